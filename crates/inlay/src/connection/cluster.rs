//! Queries for a cluster: written and shipped here, sent by the host.

use super::{Connection, Extent};
use crate::execute::Given;
use crate::execute::cluster::{self, ClusterQuery, Fetch, Shipped};
use crate::host::{Host, Parameters, check_parameter_count};
use crate::result::QueryResult;
use crate::session::Text;
use inlay_sql::parser::ast::Statement;
use inlay_types::{Error, Result};
use std::sync::Arc;

/// The last statement of a text, which is the query, if the parameters fit it.
fn only_query<'t>(text: &'t Text, parameters: &Parameters) -> Result<&'t Statement> {
    Extent::Statement.check(text)?;
    let Some(statement) = text.statements.last() else {
        return Err(Error::invalid_argument("there is no query in the text"));
    };
    check_parameter_count(statement, parameters)?;
    Ok(statement)
}

impl Connection {
    /// Writes a query in Spark's SQL. With a folder, the tables of ours that it reads are written there as Parquet, each version once:
    /// `shipped` knows which, and belongs to the folder.
    ///
    /// ```
    /// # fn main() -> inlay::Result<()> {
    /// let connection = inlay::Database::open_in_memory()?.connect();
    /// let shipped = inlay::Shipped::new();
    /// let query = connection.for_cluster("SELECT 40 + 2 AS answer", &inlay::Parameters::default(), None, &shipped, None)?;
    /// assert_eq!(query.text, "SELECT CAST(42 AS INT) AS o0");
    /// let refused = connection.for_cluster("SELECT random()", &inlay::Parameters::default(), None, &shipped, None)?;
    /// assert!(refused.refused[0].starts_with("random, which gives other values each time (line 1, column 8)"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn for_cluster(
        &self,
        sql: &str,
        parameters: &Parameters,
        host: Option<&Arc<dyn Host>>,
        shipped: &Shipped,
        folder: Option<&str>,
    ) -> Result<ClusterQuery> {
        self.guarded(
            |session, interrupt| {
                let text = session.texts.get(sql, &self.0.budget)?;
                let statement = only_query(&text, parameters)?;
                let host = host.map(|host| &**host);
                let given = Given { parameters, host, interrupt, streaming: None, text: None };
                cluster::for_cluster(&self.database()?, session, statement, given, shipped, folder)
            },
            host,
        )
    }

    /// Runs a query here whose parts are rows of a cluster, which `fetch` gives: its columns are those of the part by position, in the types
    /// that carry theirs. `None` where the cluster can be given no part that makes less of what it reads.
    pub fn in_parts(
        &self,
        sql: &str,
        parameters: &Parameters,
        host: Option<&Arc<dyn Host>>,
        shipped: &Shipped,
        folder: &str,
        fetch: Fetch<'_>,
    ) -> Result<Option<QueryResult>> {
        self.guarded(
            |session, interrupt| {
                let text = session.texts.get(sql, &self.0.budget)?;
                let statement = only_query(&text, parameters)?;
                let host = host.map(|host| &**host);
                let given = Given { parameters, host, interrupt, streaming: None, text: None };
                cluster::in_parts(&self.database()?, session, statement, given, shipped, folder, fetch)
            },
            host,
        )
    }
}
