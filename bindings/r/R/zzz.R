.onUnload <- function(libpath) library.dynam.unload("inlay", libpath)
