//! CREATE, ALTER and DROP.

use super::Reader;
use super::ast::{
    AlterAction, AlterSequence, ColumnDef, ColumnOrigin, ConstraintKind, CreateIndex, CreateSequence,
    CreateTable, CreateView, Deferral, Expr, ExprKind, Ident, Literal, OnCommit, OnExisting, Pos,
    ReferenceAction, SequenceOptions, StatementKind, TableConstraint,
};
use super::convert::{Context, unsupported};
use super::query::expr_start;
use inlay_storage::store::IndexKind;
use inlay_types::{Error, LogicalType, Result};
use sqlparser::ast;
use sqlparser::tokenizer::Token;

/// What may stand behind USING.
const INDEX_KINDS: &str = "USING art, or btree, which may be left out: a radix tree, which finds rows by equality, IN and ranges; \
                           USING bitmap: the rows of each value, of columns with few of them";

impl Reader<'_> {
    /// Tells `CREATE [OR REPLACE] [TEMP] SEQUENCE` from other CREATEs.
    pub(super) fn starts_create_sequence(&self) -> bool {
        let after_replace = if self.nth_word_is(1, "or") { 3 } else { 1 };
        let is_temporary = ["temp", "temporary"].iter().any(|word| self.nth_word_is(after_replace, word));
        self.nth_word_is(after_replace + usize::from(is_temporary), "sequence")
    }

    pub(super) fn create_sequence(&mut self) -> Result<StatementKind> {
        self.parser.next_token();
        let or_replace = self.words(&["or", "replace"]);
        let temporary = self.word("temp") || self.word("temporary");
        self.expect_word("sequence")?;
        let if_not_exists = self.words(&["if", "not", "exists"]);
        let name = self.object_name()?;
        if self.word("as") {
            let pos = self.pos();
            let wide = ["bigint", "int8", "integer", "int", "int4", "smallint", "int2"];
            if !wide.iter().any(|ty| self.word(ty)) {
                let error = Error::type_mismatch("a sequence is of an integer type up to BIGINT");
                return Err(error.at(pos.line, pos.column, self.sql));
            }
        }
        let mut options = SequenceOptions { pos: name.pos(), ..SequenceOptions::default() };
        while !self.at_end() {
            if !self.sequence_option(&mut options)? {
                return self.syntax("an option of the sequence");
            }
        }
        let on_existing = on_existing(or_replace, if_not_exists)?;
        Ok(StatementKind::CreateSequence(Box::new(CreateSequence { name, temporary, on_existing, options })))
    }

    /// `ALTER SEQUENCE [IF EXISTS] name {RENAME TO name | options and RESTART [WITH n]}`.
    pub(super) fn alter_sequence(&mut self) -> Result<StatementKind> {
        self.words(&["alter", "sequence"]);
        let if_exists = self.words(&["if", "exists"]);
        let name = self.object_name()?;
        let options = SequenceOptions { pos: name.pos(), ..SequenceOptions::default() };
        let mut alter = AlterSequence { name, if_exists, options, restart: None, rename: None };
        if self.words(&["rename", "to"]) {
            alter.rename = Some(self.identifier()?);
            return Ok(StatementKind::AlterSequence(Box::new(alter)));
        }
        if self.at_end() {
            return self.syntax("RESTART, RENAME TO or an option of the sequence");
        }
        while !self.at_end() {
            if self.word("restart") {
                let says_value = self.word("with")
                    || matches!(self.parser.peek_token_ref().token, Token::Number(..) | Token::Minus);
                alter.restart = Some(if says_value { Some(self.integer()?) } else { None });
            } else if !self.sequence_option(&mut alter.options)? {
                return self.syntax("RESTART or an option of the sequence");
            }
        }
        Ok(StatementKind::AlterSequence(Box::new(alter)))
    }

    /// Reads one option of a sequence, if there is one.
    fn sequence_option(&mut self, options: &mut SequenceOptions) -> Result<bool> {
        if self.word("start") {
            self.word("with");
            options.start = Some(self.integer()?);
        } else if self.word("increment") {
            self.word("by");
            options.increment = Some(self.integer()?);
        } else if self.word("minvalue") {
            options.min = Some(Some(self.integer()?));
        } else if self.word("maxvalue") {
            options.max = Some(Some(self.integer()?));
        } else if self.words(&["no", "minvalue"]) {
            options.min = Some(None);
        } else if self.words(&["no", "maxvalue"]) {
            options.max = Some(None);
        } else if self.words(&["no", "cycle"]) {
            options.cycle = Some(false);
        } else if self.word("cycle") {
            options.cycle = Some(true);
        } else if self.word("cache") {
            // How many values are fetched at once is the engine's to decide.
            self.integer()?;
        } else if self.words(&["owned", "by"]) {
            options.owned_by = Some(if self.word("none") { None } else { Some(self.object_name()?) });
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn integer(&mut self) -> Result<i64> {
        let negative = self.parser.consume_token(&Token::Minus);
        let Token::Number(digits, _) = &self.parser.peek_token_ref().token else {
            return self.syntax("a number");
        };
        let text = if negative { format!("-{digits}") } else { digits.clone() };
        let Ok(number) = text.parse() else { return self.syntax("a number of type BIGINT") };
        self.parser.next_token();
        Ok(number)
    }

    /// `ALTER VIEW [IF EXISTS] name RENAME TO name`.
    pub(super) fn rename_view(&mut self) -> Result<StatementKind> {
        self.words(&["alter", "view"]);
        let if_exists = self.words(&["if", "exists"]);
        let name = self.object_name()?;
        if !self.words(&["rename", "to"]) {
            return self.syntax("RENAME TO");
        }
        Ok(StatementKind::RenameView { name, if_exists, new_name: self.identifier()? })
    }
}

/// MySQL's `COMMENT = 'text'` behind the columns, and Snowflake's without `=`.
fn table_comment(create: &ast::CreateTable) -> Option<String> {
    use ast::{CommentDef, CreateTableOptions as Options, SqlOption};
    let options = match &create.table_options {
        Options::None => [].as_slice(),
        Options::With(options) | Options::Options(options) => options,
        Options::Plain(options) | Options::TableProperties(options) => options,
    };
    let among_options = options.iter().find_map(|option| match option {
        SqlOption::Comment(comment) => Some(comment),
        SqlOption::Clustered(_)
        | SqlOption::Ident(_)
        | SqlOption::KeyValue { .. }
        | SqlOption::Partition { .. }
        | SqlOption::TableSpace(_)
        | SqlOption::NamedParenthesizedList(_) => None,
    });
    create.comment.as_ref().or(among_options).map(|comment| match comment {
        CommentDef::WithEq(text) | CommentDef::WithoutEq(text) => text.clone(),
    })
}

impl Context<'_, '_> {
    pub(super) fn create_table(&self, create: ast::CreateTable) -> Result<CreateTable> {
        let name = self.object_name(&create.name)?;
        if create.like.is_some() || create.clone.is_some() || create.inherits.is_some() || create.external {
            let feature =
                "CREATE TABLE ... LIKE without parentheses, CLONE, INHERITS or EXTERNAL".to_string();
            let alternative = Some(format!(
                "CREATE TABLE {name} (LIKE other INCLUDING ALL) takes the columns of another table"
            ));
            return Err(self.at(Error::Unsupported { feature, alternative }, name.pos()));
        }
        self.refuse_places(&create, name.pos())?;
        let comment = table_comment(&create);
        let mut columns = Vec::with_capacity(create.columns.len());
        let (mut constraints, mut likes) = (Vec::new(), Vec::new());
        for column in create.columns {
            if let Some(like) = self.table_like(&column, columns.len())? {
                likes.push(like);
                continue;
            }
            columns.push(self.column_def(column, &mut constraints)?);
        }
        for constraint in create.constraints {
            constraints.push(self.constraint(constraint, name.pos())?);
        }
        if let (Some(like), true) = (likes.first(), create.query.is_some()) {
            return Err(self.at(unsupported("LIKE and AS in one CREATE TABLE"), like.table.pos()));
        }
        let mut query = create.query.map(|query| self.query(*query)).transpose()?;
        if let Some(query) = &mut query
            && create.with_data.is_some_and(|said| !said.data)
        {
            // WITH NO DATA: its columns alone.
            let none = Expr { kind: ExprKind::Literal(Literal::Number("0".to_string())), pos: name.pos() };
            (query.limit, query.limit_percent) = (Some(none), false);
        }
        Ok(CreateTable {
            on_existing: on_existing(create.or_replace, create.if_not_exists)?,
            temporary: create.temporary,
            on_commit: self.on_commit(create.on_commit, create.temporary, name.pos())?,
            columns,
            likes,
            constraints,
            query,
            comment,
            name,
        })
    }

    /// Where and in which order or format other engines keep a table: this one has one file, and would keep nothing of it.
    fn refuse_places(&self, create: &ast::CreateTable, pos: Pos) -> Result<()> {
        let format = create.hive_formats.as_ref();
        let says = [
            (create.volatile, "VOLATILE", "CREATE TEMP TABLE makes one of the session"),
            (
                create.order_by.is_some(),
                "ORDER BY behind the columns",
                "CREATE TABLE ... AS SELECT ... ORDER BY writes rows in order",
            ),
            (
                create.location.is_some() || format.is_some_and(|format| format.location.is_some()),
                "LOCATION",
                "COPY writes to files, and read_parquet and others read them",
            ),
            (
                create.file_format.is_some()
                    || format.is_some_and(|f| {
                        f.storage.is_some() || f.row_format.is_some() || f.serde_properties.is_some()
                    }),
                "a format of its files",
                "COPY ... TO 'name.parquet' writes a file of a format",
            ),
            (
                matches!(create.table_options, ast::CreateTableOptions::TableProperties(_)),
                "TBLPROPERTIES",
                "leave it out: COMMENT ON TABLE keeps a text with it",
            ),
        ];
        match says.into_iter().find(|(is_said, ..)| *is_said) {
            None => Ok(()),
            Some((_, what, way)) => {
                let feature = format!("CREATE TABLE with {what}");
                Err(self.at(Error::Unsupported { feature, alternative: Some(way.to_string()) }, pos))
            }
        }
    }

    fn on_commit(&self, said: Option<ast::OnCommit>, temporary: bool, pos: Pos) -> Result<OnCommit> {
        let on_commit = match said {
            None => return Ok(OnCommit::PreserveRows),
            Some(ast::OnCommit::PreserveRows) => OnCommit::PreserveRows,
            Some(ast::OnCommit::DeleteRows) => OnCommit::DeleteRows,
            Some(ast::OnCommit::Drop) => OnCommit::Drop,
        };
        match temporary {
            true => Ok(on_commit),
            false => {
                let error = Error::bind("ON COMMIT is for temporary tables").with_hint("CREATE TEMP TABLE");
                Err(self.at(error, pos))
            }
        }
    }

    fn constraint(&self, constraint: ast::TableConstraint, pos: Pos) -> Result<TableConstraint> {
        use ast::TableConstraint as C;
        match constraint {
            C::PrimaryKey(key) => {
                self.key_kind(key.index_type, &key.index_options, pos)?;
                let (name, characteristics) = (key.name, key.characteristics);
                let kind = ConstraintKind::PrimaryKey(self.key_columns(key.columns)?);
                self.named(name, kind, characteristics, pos)
            }
            C::Unique(key) => {
                self.key_kind(key.index_type, &key.index_options, pos)?;
                let (name, characteristics) = (key.name, key.characteristics);
                if key.nulls_distinct == ast::NullsDistinctOption::NotDistinct {
                    return Err(self.at(unsupported("UNIQUE NULLS NOT DISTINCT"), pos));
                }
                let kind = ConstraintKind::Unique(self.key_columns(key.columns)?);
                self.named(name, kind, characteristics, pos)
            }
            C::Check(check) => self.check(check),
            C::ForeignKey(key) => {
                let columns = self.idents(key.columns.clone());
                self.foreign_key(key, columns, pos)
            }
            other => Err(self.at(unsupported(format!("the constraint {other}")), pos)),
        }
    }

    fn named(
        &self,
        name: Option<ast::Ident>,
        kind: ConstraintKind,
        characteristics: Option<ast::ConstraintCharacteristics>,
        pos: Pos,
    ) -> Result<TableConstraint> {
        let name = name.map(|name| self.ident(name));
        let pos = name.as_ref().map_or(pos, |name| name.pos);
        let mut deferral = Deferral::Never;
        if let Some(said) = characteristics {
            let is_deferred = said.initially == Some(ast::DeferrableInitial::Deferred);
            deferral = match (is_deferred, said.deferrable) {
                (true, Some(false)) => {
                    let message = "a constraint that is NOT DEFERRABLE cannot be INITIALLY DEFERRED";
                    return Err(self.at(Error::bind(message), pos));
                }
                (true, _) => Deferral::Deferred,
                (false, Some(true)) => Deferral::Immediate,
                (false, _) => Deferral::Never,
            };
            if said.enforced == Some(false) {
                return Err(self.at(unsupported("a constraint that is NOT ENFORCED"), pos));
            }
        }
        Ok(TableConstraint { name, kind, deferral, pos })
    }

    fn check(&self, check: ast::CheckConstraint) -> Result<TableConstraint> {
        let text = check.expr.to_string();
        let condition = self.expr(*check.expr)?;
        let pos = condition.pos;
        if check.enforced == Some(false) {
            return Err(self.at(unsupported("a constraint that is NOT ENFORCED"), pos));
        }
        self.named(check.name, ConstraintKind::Check(condition, text), None, pos)
    }

    fn foreign_key(
        &self,
        key: ast::ForeignKeyConstraint,
        columns: Vec<Ident>,
        pos: Pos,
    ) -> Result<TableConstraint> {
        use ast::ConstraintReferenceMatchKind as Match;
        let table = self.object_name(&key.foreign_table)?;
        if matches!(key.match_kind, Some(Match::Full | Match::Partial)) {
            return Err(self.at(unsupported("MATCH FULL and MATCH PARTIAL"), table.pos()));
        }
        let kind = ConstraintKind::ForeignKey {
            columns,
            referenced: self.idents(key.referred_columns),
            on_delete: action(key.on_delete),
            on_update: action(key.on_update),
            table,
        };
        self.named(key.name, kind, key.characteristics, pos)
    }

    fn column_def(
        &self,
        column: ast::ColumnDef,
        constraints: &mut Vec<TableConstraint>,
    ) -> Result<ColumnDef> {
        let name = self.ident(column.name);
        let pos = name.pos;
        let serial = serial_type(&column.data_type);
        let data_type = match &serial {
            Some(data_type) => data_type.clone(),
            None if column.data_type.to_string().trim_matches('"') == super::spelling::UNTYPED => {
                LogicalType::Null
            }
            None => self.data_type(&column.data_type).map_err(|error| self.at(error, pos))?,
        };
        let origin = if serial.is_some() { ColumnOrigin::Serial } else { ColumnOrigin::Given };
        let mut def = ColumnDef {
            name,
            data_type,
            not_null: serial.is_some(),
            default: None,
            origin,
            collation: None,
            comment: None,
        };
        for option in column.options {
            let given = option.name;
            let own = vec![def.name.clone()];
            match option.option {
                ast::ColumnOption::Null => {}
                ast::ColumnOption::NotNull => def.not_null = true,
                ast::ColumnOption::Default(expr) => def.default = Some(self.with_text(expr)?),
                ast::ColumnOption::PrimaryKey(key) => {
                    def.not_null = true;
                    let kind = ConstraintKind::PrimaryKey(own);
                    constraints.push(self.named(given, kind, key.characteristics, pos)?);
                }
                ast::ColumnOption::Unique(key) => {
                    let kind = ConstraintKind::Unique(own);
                    constraints.push(self.named(given, kind, key.characteristics, pos)?);
                }
                ast::ColumnOption::Check(mut check) => {
                    check.name = check.name.or(given);
                    constraints.push(self.check(check)?);
                }
                ast::ColumnOption::ForeignKey(mut key) => {
                    key.name = key.name.or(given);
                    constraints.push(self.foreign_key(key, own, pos)?);
                }
                ast::ColumnOption::Generated { generated_as, sequence_options, generation_expr, .. } => {
                    def.origin = self.generated(generated_as, sequence_options, generation_expr, pos)?
                }
                ast::ColumnOption::Comment(text) => def.comment = Some(text),
                ast::ColumnOption::Collation(name) => def.collation = Some(name.to_string().replace('"', "")),
                other => return Err(self.at(unsupported(format!("the column option {other}")), pos)),
            }
        }
        let says_twice = match &def.origin {
            ColumnOrigin::Given => None,
            ColumnOrigin::Computed(..) => Some("a generated column"),
            ColumnOrigin::Identity { .. } => Some("an identity column"),
            ColumnOrigin::Serial => Some("a SERIAL column"),
        };
        if let (Some(kind), Some(_)) = (says_twice, &def.default) {
            return Err(self.at(Error::bind(format!("{kind} has no DEFAULT")), pos));
        }
        Ok(def)
    }

    fn with_text(&self, expr: ast::Expr) -> Result<(Expr, String)> {
        let text = expr.to_string();
        Ok((self.expr(expr)?, text))
    }

    fn generated(
        &self,
        generated_as: ast::GeneratedAs,
        options: Option<Vec<ast::SequenceOptions>>,
        expr: Option<ast::Expr>,
        pos: Pos,
    ) -> Result<ColumnOrigin> {
        if let Some(expr) = expr {
            let (expr, text) = self.with_text(expr)?;
            return Ok(ColumnOrigin::Computed(expr, text));
        }
        let always = !matches!(generated_as, ast::GeneratedAs::ByDefault);
        let mut read = SequenceOptions { pos, ..SequenceOptions::default() };
        for option in options.unwrap_or_default() {
            use ast::SequenceOptions as O;
            match option {
                O::IncrementBy(number, _) => read.increment = Some(self.sequence_number(&number, pos)?),
                O::StartWith(number, _) => read.start = Some(self.sequence_number(&number, pos)?),
                O::MinValue(limit) => {
                    read.min = Some(limit.map(|number| self.sequence_number(&number, pos)).transpose()?);
                }
                O::MaxValue(limit) => {
                    read.max = Some(limit.map(|number| self.sequence_number(&number, pos)).transpose()?);
                }
                O::Cache(_) => {}
                O::Cycle(cycle) => read.cycle = Some(cycle),
            }
        }
        Ok(ColumnOrigin::Identity { always, options: read })
    }

    fn sequence_number(&self, number: &ast::Expr, pos: Pos) -> Result<i64> {
        let text = number.to_string();
        text.replace(' ', "").trim_start_matches('+').parse().map_err(|_| {
            self.at(Error::Syntax { message: format!("{text} is no number of type BIGINT") }, pos)
        })
    }

    fn key_columns(&self, columns: Vec<ast::IndexColumn>) -> Result<Vec<Ident>> {
        let name = |column: ast::IndexColumn| match column.column.expr {
            ast::Expr::Identifier(ident) => Ok(self.ident(ident)),
            other => {
                Err(self.at(Error::bind("a key consists of columns, not expressions"), expr_start(&other)))
            }
        };
        columns.into_iter().map(name).collect()
    }

    pub(super) fn create_view(&self, create: ast::CreateView, query_text: String) -> Result<CreateView> {
        let name = self.object_name(&create.name)?;
        if create.materialized {
            return Err(self.at(unsupported("CREATE MATERIALIZED VIEW"), name.pos()));
        }
        Ok(CreateView {
            on_existing: on_existing(create.or_replace, create.if_not_exists)?,
            temporary: create.temporary,
            columns: create.columns.into_iter().map(|column| self.ident(column.name)).collect(),
            query: self.query(*create.query)?,
            query_text,
            name,
        })
    }

    pub(super) fn create_index(&self, create: ast::CreateIndex) -> Result<StatementKind> {
        let table = self.object_name(&create.table_name)?;
        if !create.include.is_empty() || create.nulls_distinct == Some(false) {
            return Err(self.at(unsupported("INCLUDE and NULLS NOT DISTINCT of an index"), table.pos()));
        }
        let kind = self.index_kind(create.using, &create.index_options, table.pos())?;
        if kind == IndexKind::Bitmap && (create.unique || create.predicate.is_some()) {
            let what = if create.unique { "UNIQUE" } else { "WHERE" };
            let alternative = Some("USING art can have it".to_string());
            let feature = format!("{what} of a bitmap index");
            return Err(self.at(Error::Unsupported { feature, alternative }, table.pos()));
        }
        if create.r#async || !create.with.is_empty() || !create.alter_options.is_empty() {
            return Err(
                self.at(unsupported("an option of CREATE INDEX (WITH, ASYNC, ALGORITHM, LOCK)"), table.pos())
            );
        }
        let key = |column: ast::IndexColumn| {
            let options = &column.column.options;
            if kind == IndexKind::Bitmap && (options.sort.is_some() || options.nulls_first.is_some()) {
                let message = "the order of a column in a bitmap index";
                return Err(self.at(unsupported(message), expr_start(&column.column.expr)));
            }
            if let Some(class) = column.operator_class {
                let message = format!("the operator class {class} of an index");
                return Err(self.at(unsupported(message), expr_start(&column.column.expr)));
            }
            let mut expr = column.column.expr;
            while let ast::Expr::Nested(inner) = expr {
                expr = *inner;
            }
            self.with_text(expr)
        };
        Ok(StatementKind::CreateIndex(Box::new(CreateIndex {
            name: create.name.map(|name| self.object_name(&name)).transpose()?,
            table,
            columns: create.columns.into_iter().map(key).collect::<Result<_>>()?,
            filter: create.predicate.map(|condition| self.with_text(condition)).transpose()?,
            unique: create.unique,
            kind,
            if_not_exists: create.if_not_exists,
        })))
    }

    /// Whether the index of a key may be of the kind that it asks for.
    fn key_kind(&self, using: Option<ast::IndexType>, options: &[ast::IndexOption], pos: Pos) -> Result<()> {
        match self.index_kind(using, options, pos)? {
            IndexKind::Art => Ok(()),
            IndexKind::Bitmap => {
                let alternative = Some("its index is USING art".to_string());
                let feature = "a bitmap index of a key".to_string();
                Err(self.at(Error::Unsupported { feature, alternative }, pos))
            }
        }
    }

    /// The kind of index that is asked for.
    fn index_kind(
        &self,
        using: Option<ast::IndexType>,
        options: &[ast::IndexOption],
        pos: Pos,
    ) -> Result<IndexKind> {
        let mut found = IndexKind::Art;
        let behind = options.iter().filter_map(|option| match option {
            ast::IndexOption::Using(kind) => Some(kind),
            ast::IndexOption::Comment(_) => None,
        });
        for kind in using.iter().chain(behind) {
            let name = kind.to_string();
            let is = |known: &str| name.eq_ignore_ascii_case(known);
            if is("bitmap") {
                found = IndexKind::Bitmap;
            } else if !is("art") && !is("btree") {
                return Err(self.at(
                    Error::bind(format!("there is no index of the kind {name}")).with_hint(INDEX_KINDS),
                    pos,
                ));
            }
        }
        if options.iter().any(|option| matches!(option, ast::IndexOption::Comment(_))) {
            return Err(self.at(unsupported("COMMENT of an index in CREATE INDEX"), pos));
        }
        Ok(found)
    }

    pub(super) fn alter_table(&self, alter: ast::AlterTable) -> Result<StatementKind> {
        let table = self.object_name(&alter.name)?;
        let mut actions = Vec::with_capacity(alter.operations.len());
        for operation in alter.operations {
            self.alter_action(operation, table.pos(), &mut actions)?;
        }
        Ok(StatementKind::AlterTable { table, if_exists: alter.if_exists, actions })
    }

    fn alter_action(
        &self,
        operation: ast::AlterTableOperation,
        pos: Pos,
        actions: &mut Vec<AlterAction>,
    ) -> Result<()> {
        use ast::AlterTableOperation as O;
        let cascades = |behavior: Option<ast::DropBehavior>| behavior == Some(ast::DropBehavior::Cascade);
        actions.push(match operation {
            O::AddColumn { if_not_exists, column_def, column_position: None, .. } => {
                let mut constraints = Vec::new();
                let column = Box::new(self.column_def(column_def, &mut constraints)?);
                if column.comment.is_some() {
                    let (feature, alternative) = (
                        "COMMENT of an added column".to_string(),
                        Some("COMMENT ON COLUMN adds it".to_string()),
                    );
                    return Err(self.at(Error::Unsupported { feature, alternative }, column.name.pos));
                }
                AlterAction::AddColumn { column, constraints, if_not_exists }
            }
            O::DropColumn { column_names, if_exists, drop_behavior, .. } => {
                for name in column_names {
                    let (name, cascade) = (self.ident(name), cascades(drop_behavior));
                    actions.push(AlterAction::DropColumn { name, if_exists, cascade });
                }
                return Ok(());
            }
            O::RenameColumn { old_column_name, new_column_name } => AlterAction::RenameColumn {
                name: self.ident(old_column_name),
                new_name: self.ident(new_column_name),
            },
            O::RenameTable {
                table_name: ast::RenameTableNameKind::To(name) | ast::RenameTableNameKind::As(name),
            } => {
                let mut name = self.object_name(&name)?;
                let new_name = name.parts.pop().filter(|_| name.parts.is_empty());
                let Some(new_name) = new_name else {
                    return Err(self.at(Error::bind("RENAME TO takes a name without a database"), pos));
                };
                AlterAction::RenameTable { new_name }
            }
            O::AddConstraint { constraint, not_valid: false } => {
                AlterAction::AddConstraint(self.constraint(constraint, pos)?)
            }
            O::DropConstraint { if_exists, name, drop_behavior } => AlterAction::DropConstraint {
                name: self.ident(name),
                if_exists,
                cascade: cascades(drop_behavior),
            },
            O::DropPrimaryKey { .. } => AlterAction::DropPrimaryKey(pos),
            O::RenameConstraint { old_name, new_name } => {
                AlterAction::RenameConstraint { name: self.ident(old_name), new_name: self.ident(new_name) }
            }
            O::AlterColumn { column_name, op } => {
                use ast::AlterColumnOperation as C;
                let name = self.ident(column_name);
                match op {
                    C::SetNotNull => AlterAction::SetNotNull(name),
                    C::DropNotNull => AlterAction::DropNotNull(name),
                    C::SetDefault { value } => {
                        AlterAction::SetDefault { name, default: self.with_text(value)? }
                    }
                    C::DropDefault => AlterAction::DropDefault(name),
                    C::SetDataType { data_type, using, .. } => {
                        let data_type =
                            self.data_type(&data_type).map_err(|error| self.at(error, name.pos))?;
                        let using = using.map(|using| self.expr(using)).transpose()?;
                        let (using, collation) = collated_column(&name, using);
                        AlterAction::SetType { name, data_type, using, collation }
                    }
                    C::AddGenerated { generated_as, sequence_options } => {
                        let kind = generated_as.unwrap_or(ast::GeneratedAs::ByDefault);
                        match self.generated(kind, sequence_options, None, name.pos)? {
                            ColumnOrigin::Identity { always, options } => {
                                AlterAction::AddIdentity { name, always, options }
                            }
                            _ => return Err(self.at(unsupported("ALTER COLUMN ... ADD GENERATED"), name.pos)),
                        }
                    }
                }
            }
            other => {
                let text = other.to_string();
                let words: Vec<&str> = text.split_whitespace().take(3).collect();
                return Err(self.at(unsupported(format!("ALTER TABLE ... {}", words.join(" "))), pos));
            }
        });
        Ok(())
    }
}

pub(super) fn on_existing(or_replace: bool, if_not_exists: bool) -> Result<OnExisting> {
    match (or_replace, if_not_exists) {
        (true, true) => {
            let message = "OR REPLACE and IF NOT EXISTS exclude each other: one replaces what is there, the other keeps it";
            Err(Error::Syntax { message: message.into() })
        }
        (true, false) => Ok(OnExisting::Replace),
        (false, true) => Ok(OnExisting::Keep),
        (false, false) => Ok(OnExisting::Fail),
    }
}

fn action(written: Option<ast::ReferentialAction>) -> ReferenceAction {
    match written {
        None | Some(ast::ReferentialAction::NoAction) => ReferenceAction::NoAction,
        Some(ast::ReferentialAction::Restrict) => ReferenceAction::Restrict,
        Some(ast::ReferentialAction::Cascade) => ReferenceAction::Cascade,
        Some(ast::ReferentialAction::SetNull) => ReferenceAction::SetNull,
        Some(ast::ReferentialAction::SetDefault) => ReferenceAction::SetDefault,
    }
}

/// The type of a `SERIAL` column, if it is one.
fn serial_type(written: &ast::DataType) -> Option<LogicalType> {
    match written.to_string().to_ascii_lowercase().as_str() {
        "serial" | "serial4" => Some(LogicalType::Integer),
        "bigserial" | "serial8" => Some(LogicalType::BigInt),
        "smallserial" | "serial2" => Some(LogicalType::SmallInt),
        _ => None,
    }
}

/// `TYPE VARCHAR COLLATE x` comes as `... USING column COLLATE x`.
fn collated_column(column: &Ident, using: Option<Expr>) -> (Option<Expr>, Option<String>) {
    match using.map(|using| (using.kind, using.pos)) {
        None => (None, None),
        Some((ExprKind::Collate { expr, collation }, _)) if matches!(&expr.kind, ExprKind::Column(parts) if matches!(&parts[..], [only] if only.value == column.value)) => {
            (None, Some(collation))
        }
        Some((kind, pos)) => (Some(Expr { kind, pos }), None),
    }
}
