# A bar for long queries where somebody looks at it; options(inlay.progress = FALSE) ends that, a number says after how
# many seconds.
.onLoad <- function(libname, pkgname) {
  if (is.null(getOption("inlay.progress"))) options(inlay.progress = interactive())
}

.onUnload <- function(libpath) library.dynam.unload("inlay", libpath)
