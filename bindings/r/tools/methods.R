# Writes man/methods.Rd of the methods that the installed package has: Rscript tools/methods.R
library(inlay)
space <- asNamespace("inlay")
methods <- unlist(lapply(getGenerics(where = space), function(generic) {
  tables <- findMethods(generic, where = space)
  if (length(tables) == 0L) return(character())
  signatures <- vapply(tables@.Data, function(method) paste(sub("ANY$", "ANY", method@defined), collapse = ","), "")
  paste0(generic, ",", signatures, "-method")
}))
methods <- sort(unique(grep("inlay_", methods, value = TRUE)))
# Generics of DBI that a user finds here, too.
reexported <- sort(setdiff(getNamespaceExports("inlay"), c(grep("^\\.__", getNamespaceExports("inlay"), value = TRUE), ls(space))))
# Of this package, or DBI's own.
generics <- names(space$GENERICS_OF_ARROW)
writeLines(c(
  "% Made by tools/methods.R.",
  "\\name{inlay-methods}",
  paste0("\\alias{", c(paste0("inlay_", c("driver", "connection", "result", "result_arrow"), "-class"), methods, unique(c(reexported, generics))), "}"),
  "\\title{DBI's methods, and its functions}",
  "\\description{Methods of DBI's generics, which are documented there, for \\code{\\link{inlay}}; and these generics themselves.}",
  "\\keyword{internal}"
), "man/methods.Rd")
