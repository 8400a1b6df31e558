#' @include frame.R
NULL

# Predictions of models as SQL: an expression over the columns that the model was made of.

inlay_predict_sql <- function(model, type = NULL) {
  if (inherits(model, "rpart")) return(rpart_sql(model, type))
  if (inherits(model, "glm")) return(glm_sql(model, type))
  if (inherits(model, "lm") && !inherits(model, "mlm")) {
    if (!is.null(type) && type != "response") fail('`type` of lm is "response"')
    return(linear_sql(model))
  }
  fail("models of class ", class(model)[[1L]], " are not translated; inlay_function() can call predict()")
}

number_sql <- function(x) as.character(literal(NULL, as.double(x)))

name_sql <- function(name) paste0('"', gsub('"', '""', enc2utf8(name), fixed = TRUE), '"')

text_sql <- function(text) paste0("'", gsub("'", "''", enc2utf8(text), fixed = TRUE), "'")

OPERATORS <- c(`+` = "+", `-` = "-", `*` = "*", `<` = "<", `<=` = "<=", `>` = ">", `>=` = ">=", `==` = "=", `!=` = "<>", `&` = "AND", `|` = "OR")

# An expression of a formula.
expression_sql <- function(it) {
  if (is.name(it)) return(name_sql(as.character(it)))
  if (is.numeric(it) && length(it) == 1L) return(number_sql(it))
  if (is.character(it) && length(it) == 1L) return(text_sql(it))
  if (is.logical(it) && length(it) == 1L && !is.na(it)) return(if (it) "TRUE" else "FALSE")
  if (!is.call(it) || !is.name(it[[1L]])) fail("\"", deparse1(it), "\" of the model's formula is not translated")
  head <- as.character(it[[1L]])
  arguments <- vapply(as.list(it)[-1L], expression_sql, "")
  if (head %in% c("(", "I", "offset") && length(arguments) == 1L) return(arguments)
  if (head == "-" && length(arguments) == 1L) return(paste0("(-", arguments, ")"))
  if (head == "+" && length(arguments) == 1L) return(arguments)
  if (head == "!" && length(arguments) == 1L) return(paste0("(NOT ", arguments, ")"))
  if (head %in% names(OPERATORS) && length(arguments) == 2L) return(paste0("(", arguments[[1L]], " ", OPERATORS[[head]], " ", arguments[[2L]], ")"))
  if (head == "/" && length(arguments) == 2L) return(paste0("(", arguments[[1L]], "::DOUBLE / ", arguments[[2L]], ")"))
  if (head == "^" && length(arguments) == 2L) return(paste0("pow(", arguments[[1L]], ", ", arguments[[2L]], ")"))
  if (head == "log1p" && length(arguments) == 1L) return(paste0("ln(1 + ", arguments, ")"))
  if (head == "ifelse" && length(arguments) == 3L) return(paste0("CASE WHEN ", arguments[[1L]], " THEN ", arguments[[2L]], " WHEN NOT ", arguments[[1L]], " THEN ", arguments[[3L]], " END"))
  if (head %in% names(MATH) && length(arguments) == 1L) return(paste0(MATH[[head]], "(", arguments, ")"))
  fail("\"", deparse1(it), "\" of the model's formula is not translated; inlay_function() can call predict()")
}

variable_sql <- function(label) expression_sql(str2lang(label))

# ---- lm and glm ----

# The levels of a variable that is coded, and the condition of SQL that each is met by; NULL for a number.
levels_of <- function(model, label) {
  kind <- attr(model$terms, "dataClasses")[[label]]
  if (kind == "logical") {
    sql <- variable_sql(label)
    return(list(levels = c("FALSE", "TRUE"), tests = c(paste0("NOT ", sql), sql)))
  }
  levels <- model$xlevels[[label]]
  if (is.null(levels)) {
    if (kind != "numeric") fail("the variable \"", label, "\" of the model is ", kind, ", which is not translated; inlay_function() can call predict()")
    return(NULL)
  }
  list(levels = levels, tests = paste(level_sql(label), "=", level_values(label, levels)))
}

# factor(x) of numbers has texts of them as levels.
factor_argument <- function(label) {
  it <- str2lang(label)
  if (is.call(it) && length(it) == 2L && as.character(it[[1L]])[[1L]] %in% c("factor", "as.factor", "as.character")) it[[2L]] else NULL
}

level_sql <- function(label) {
  inner <- factor_argument(label)
  if (is.null(inner)) variable_sql(label) else expression_sql(inner)
}

level_values <- function(label, levels) {
  numbers <- suppressWarnings(as.numeric(levels))
  if (!is.null(factor_argument(label)) && !anyNA(numbers)) return(vapply(numbers, number_sql, ""))
  if (!is.null(factor_argument(label)) && all(levels %in% c("FALSE", "TRUE"))) return(levels)
  text_sql(levels)
}

# How a coded variable enters a term: a row for each level, a column for each coefficient.
coding_of <- function(model, label, levels, is_full) {
  if (is_full) return(diag(length(levels)))
  used <- model$contrasts[[label]]
  if (is.matrix(used)) return(used)
  if (is.character(used)) match.fun(used)(levels) else stats::contr.treatment(levels)
}

# A value for each combination of levels, as CASE within CASE; unknown levels give NULL.
cases_sql <- function(values, tests) {
  if (length(tests) == 0L) return(number_sql(values))
  size <- length(tests[[1L]])
  branch <- function(i) {
    # The first variable varies fastest.
    inner <- values[seq(i, length(values), by = size)]
    paste0("WHEN ", tests[[1L]][[i]], " THEN ", cases_sql(inner, tests[-1L]))
  }
  paste0("CASE ", paste(vapply(seq_len(size), branch, ""), collapse = " "), " END")
}

term_sql <- function(model, variables, coefficients) {
  coded <- list()
  numbers <- character()
  columns <- 1L
  for (label in names(variables)) {
    found <- levels_of(model, label)
    if (is.null(found)) {
      numbers <- c(numbers, variable_sql(label))
    } else {
      found$coding <- coding_of(model, label, found$levels, variables[[label]] == 2L)
      columns <- columns * ncol(found$coding)
      coded[[label]] <- found
    }
  }
  own <- coefficients[seq_len(columns)]
  own[is.na(own)] <- 0
  # Coefficients of columns to values of levels, one variable after the other.
  values <- own
  before <- 1L
  sizes <- vapply(coded, function(it) ncol(it$coding), 0L)
  for (k in seq_along(coded)) {
    coding <- coded[[k]]$coding
    shaped <- array(values, c(before, ncol(coding), length(values) / before / ncol(coding)))
    wide <- array(0, c(before, nrow(coding), dim(shaped)[[3L]]))
    for (rest in seq_len(dim(shaped)[[3L]])) wide[, , rest] <- matrix(shaped[, , rest], before) %*% t(coding)
    values <- as.vector(wide)
    before <- before * nrow(coding)
  }
  list(sql = paste(c(cases_sql(values, unname(lapply(coded, `[[`, "tests"))), numbers), collapse = " * "), used = columns)
}

# Without an intercept the first variable that is coded has a coefficient for each of its levels.
fully_coded <- function(model, factors) {
  if (attr(model$terms, "intercept") == 1L) return(factors)
  for (i in seq_len(ncol(factors))) for (label in rownames(factors)[factors[, i] > 0L]) {
    if (is.null(levels_of(model, label))) next
    factors[label, i] <- 2L
    return(factors)
  }
  factors
}

linear_sql <- function(model) {
  terms <- model$terms
  coefficients <- unname(stats::coef(model))
  parts <- character()
  if (attr(terms, "intercept") == 1L) {
    parts <- number_sql(coefficients[[1L]])
    coefficients <- coefficients[-1L]
  }
  factors <- fully_coded(model, attr(terms, "factors"))
  for (i in seq_along(attr(terms, "term.labels"))) {
    variables <- factors[factors[, i] > 0L, i]
    names(variables) <- rownames(factors)[factors[, i] > 0L]
    term <- term_sql(model, variables, coefficients)
    if (term$used > length(coefficients)) fail("the model's terms and coefficients do not fit together")
    coefficients <- coefficients[-seq_len(term$used)]
    parts <- c(parts, term$sql)
  }
  if (length(coefficients) > 0L) fail("a term of the model has several columns, which is not translated; inlay_function() can call predict()")
  offsets <- vapply(attr(terms, "offset"), function(at) expression_sql(attr(terms, "variables")[[at + 1L]]), "")
  if (!is.null(model$call$offset)) offsets <- c(offsets, expression_sql(model$call$offset))
  paste0("(", paste(c(parts, offsets), collapse = " + "), ")")
}

LINKS <- list(
  identity = function(x) x, log = function(x) paste0("exp(", x, ")"), logit = function(x) paste0("(1 / (1 + exp(-", x, ")))"),
  inverse = function(x) paste0("(1 / ", x, ")"), sqrt = function(x) paste0("pow(", x, ", 2)"), `1/mu^2` = function(x) paste0("(1 / sqrt(", x, "))"),
  cloglog = function(x) paste0("(1 - exp(-exp(", x, ")))"), cauchit = function(x) paste0("(0.5e0 + atan(", x, ") / pi())")
)

glm_sql <- function(model, type) {
  type <- if (is.null(type)) "link" else match.arg(type, c("link", "response"))
  linear <- linear_sql(model)
  if (type == "link") return(linear)
  link <- LINKS[[model$family$link]]
  if (is.null(link)) fail("the link \"", model$family$link, "\" is not translated; type = \"link\" is")
  link(linear)
}

# ---- rpart ----

# The condition under which a split goes left: TRUE, FALSE, or NULL where it does not know.
split_sql <- function(model, row) {
  splits <- model$splits
  label <- rownames(splits)[[row]]
  kind <- splits[row, "ncat"]
  if (abs(kind) == 1L) {
    return(paste0(variable_sql(label), if (kind < 0) " < " else " >= ", number_sql(splits[row, "index"])))
  }
  ways <- model$csplit[splits[row, "index"], ]
  levels <- attr(model, "xlevels")[[label]]
  of <- function(way) paste(level_values(label, levels[ways[seq_along(levels)] == way]), collapse = ", ")
  sql <- level_sql(label)
  paste0("CASE WHEN ", sql, " IN (", of(1L), ") THEN TRUE WHEN ", sql, " IN (", of(3L), ") THEN FALSE END")
}

# Values of leaves, as texts of SQL.
tree_sql <- function(model, values) {
  frame <- model$frame
  numbers <- as.integer(rownames(frame))
  is_leaf <- frame$var == "<leaf>"
  # Of each node that is split: its first row of the splits, which are the split, those that lost, and those that stand for it.
  counts <- ifelse(is_leaf, 0L, 1L + frame$ncompete + frame$nsurrogate)
  starts <- cumsum(c(0L, counts))[seq_along(counts)] + 1L
  use <- model$control$usesurrogate
  node <- function(number) {
    at <- match(number, numbers)
    if (is_leaf[[at]]) return(values[[at]])
    rows <- starts[[at]]
    if (use > 0L && frame$nsurrogate[[at]] > 0L) rows <- c(rows, starts[[at]] + frame$ncompete[[at]] + seq_len(frame$nsurrogate[[at]]))
    ways <- vapply(rows, function(row) split_sql(model, row), "")
    left <- match(2L * number, numbers)
    right <- match(2L * number + 1L, numbers)
    if (use > 1L) ways <- c(ways, if (frame$n[[left]] >= frame$n[[right]]) "TRUE" else "FALSE")
    way <- if (length(ways) == 1L) ways else paste0("coalesce(", paste(ways, collapse = ", "), ")")
    paste0("CASE ", way, " WHEN TRUE THEN ", node(2L * number), " WHEN FALSE THEN ", node(2L * number + 1L), " ELSE ", values[[at]], " END")
  }
  paste0("(", node(1L), ")")
}

rpart_sql <- function(model, type) {
  frame <- model$frame
  if (model$method == "class") {
    labels <- attr(model, "ylevels")
    type <- match.arg(if (is.null(type)) "prob" else type, c("prob", "class", "vector"))
    if (type == "vector") return(tree_sql(model, vapply(frame$yval, number_sql, "")))
    if (type == "class") return(tree_sql(model, text_sql(labels[frame$yval])))
    # Behind the class: counts of the classes, and their shares.
    shares <- frame$yval2[, 1L + length(labels) + seq_along(labels), drop = FALSE]
    return(setNames(vapply(seq_along(labels), function(k) tree_sql(model, vapply(shares[, k], number_sql, "")), ""), labels))
  }
  if (!is.null(type) && type != "vector") fail("`type` of this tree is \"vector\"")
  if (!model$method %in% c("anova", "poisson", "exp")) fail("trees of method \"", model$method, "\" are not translated")
  tree_sql(model, vapply(frame$yval, number_sql, ""))
}
