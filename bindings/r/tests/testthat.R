library(testthat)
library(inlay)
test_check("inlay")
