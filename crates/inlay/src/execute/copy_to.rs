//! COPY TO: the rows of a query as files.

use super::{Run, output_names, output_types};
use crate::result::QueryResult;
use inlay_catalog::access::Door;
use inlay_exec::rows_size;
use inlay_formats::option_text::boolean;
use inlay_formats::{Account, Destination};
use inlay_sql::plan::statement::Query;
use inlay_types::{Batch, Error, LogicalType, Result, Value, Vector};
use std::sync::Arc;

/// Bytes of rows that are written to a file at once, by all workers...
const WRITTEN_AT_ONCE: u64 = 8 << 20;

/// ... and the part of the memory limit that they may take: the bytes of the file come to several times as many.
const WRITTEN_PART: u64 = 32;

impl Run<'_> {
    /// COPY TO: how many rows were written, and the files if that is asked for.
    pub(crate) fn copy_to(
        &self,
        query: Query,
        path: &str,
        options: &[(String, Value)],
    ) -> Result<QueryResult> {
        let names = output_names(&query);
        self.ask(Door::Write(path))?;
        let (mut written, mut gives_files) = (Vec::with_capacity(options.len()), false);
        for (name, value) in options {
            match name.as_str() {
                "return_files" => gives_files = boolean(name, value)?,
                "return_stats" if boolean(name, value)? => {
                    let alternative =
                        "RETURN_FILES gives the files, of which parquet_metadata() tells the statistics";
                    return Err(Error::Unsupported {
                        feature: "RETURN_STATS".to_string(),
                        alternative: Some(alternative.to_string()),
                    });
                }
                "return_stats" => {}
                "per_thread_output" if boolean(name, value)? => {
                    written.push((name.clone(), Value::UBigInt(self.workers().count() as u64)));
                }
                _ => written.push((name.clone(), value.clone())),
            }
        }
        let account = Arc::<Account>::default();
        let count = self.write_file(query, path, &names, &written, &account)?;
        if !gives_files {
            return Ok(QueryResult::changed(count));
        }
        let files = account.files().into_iter().map(Value::Varchar).collect();
        let types = vec![LogicalType::BigInt, LogicalType::list(LogicalType::Varchar)];
        let values = [
            Value::BigInt(count as i64),
            Value::List { element: Arc::new(LogicalType::Varchar), values: files },
        ];
        let columns = types.iter().zip(&values);
        let columns =
            columns.map(|(ty, value)| Vector::from_sql_values(ty.clone(), std::slice::from_ref(value)));
        let batch = Batch::new(columns.collect::<Result<_>>()?, 1);
        Ok(self.rows(vec!["Count".to_string(), "Files".to_string()], types, vec![batch]))
    }

    /// Writes the rows of a query to a file while they are computed. Returns how many there were.
    pub(crate) fn write_file(
        &self,
        query: Query,
        path: &str,
        names: &[String],
        options: &[(String, Value)],
        account: &Arc<Account>,
    ) -> Result<u64> {
        let query = self.optimized(query)?;
        let (files, types) = (self.database.settings().files(), output_types(&query));
        let to = Destination { files, path, names, types: &types, account };
        let mut writer = inlay_formats::open_writer(&to, options)?;
        let context = self.context();
        let parallel =
            |count: usize, work: &(dyn Fn(usize) -> Result<()> + Sync)| context.parallel(count, work);
        let most = (context.budget.limit() / WRITTEN_PART).min(WRITTEN_AT_ONCE) as usize;
        let mut rows = inlay_exec::stream(&query, &context)?;
        let (mut batches, mut size) = (Vec::new(), 0);
        while let Some(batch) = rows.next_batch()? {
            self.given.interrupt.check()?;
            size += rows_size(batch.columns(), batch.len());
            batches.push(batch);
            if size >= most {
                writer.write(&std::mem::take(&mut batches), &parallel)?;
                size = 0;
            }
        }
        writer.write(&batches, &parallel)?;
        drop(batches);
        writer.finish(&parallel)
    }
}
