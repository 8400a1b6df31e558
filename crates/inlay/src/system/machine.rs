//! The rows of system tables about the session, the language and the machine.

use super::gather::{Gather, number, optional, text};
use super::system_table;
use crate::profile::{METRICS, pass_metric};
use crate::settings;
use inlay_sql::optimizer::PASSES;
use inlay_types::{Value, keywords};

/// The words of the language, in lower case.
pub fn keyword_names() -> impl Iterator<Item = &'static str> {
    keywords::all().map(|(word, _)| word)
}

/// Whether a word cannot be a name without quotes.
pub fn is_reserved(word: &str) -> bool {
    keywords::is_reserved(word)
}

system_table! {
    SettingRow = "settings" by all_settings {
        name: Text,
        value: Text,
        description: Text,
        input_type: Text,
        scope: Text,
    }
}

fn all_settings(gather: &Gather<'_>) -> Vec<SettingRow> {
    let row = |setting: &settings::Setting| {
        let value = gather.names.setting(setting.name);
        let ty = value.as_ref().map_or_else(|| "VARCHAR".to_string(), |v| v.logical_type().to_string());
        let scope = if setting.scope == settings::Scope::Database { "GLOBAL" } else { "LOCAL" };
        SettingRow {
            name: text(setting.name),
            value: optional(value.map(|value| value.to_string())),
            description: text(setting.description),
            input_type: text(ty),
            scope: text(scope),
        }
    };
    settings::SETTINGS.iter().map(row).collect()
}

system_table! {
    MetricRow = "available_metrics" by available_metrics {
        metric_name: Text,
        metric_type: Text,
        description: Text,
        unit: Text,
    }
}

/// What profiles may tell.
fn available_metrics(_: &Gather<'_>) -> Vec<MetricRow> {
    let own = METRICS.iter().map(|metric| MetricRow {
        metric_name: text(metric.name),
        metric_type: text(metric.kind),
        description: text(metric.description),
        unit: text(metric.unit),
    });
    let passes = PASSES.iter().map(|pass| MetricRow {
        metric_name: text(pass_metric(pass)),
        metric_type: text("double"),
        description: text(format!("Time of the optimizer's pass \"{pass}\"")),
        unit: text("seconds"),
    });
    own.chain(passes).collect()
}

system_table! {
    Keyword = "keywords" by keywords {
        keyword_name: Text,
        keyword_category: Text,
    }
}

fn keywords(_: &Gather<'_>) -> Vec<Keyword> {
    let row = |(word, category): (&'static str, keywords::Category)| Keyword {
        keyword_name: text(word),
        keyword_category: text(category.name()),
    };
    keywords::all().map(row).collect()
}

system_table! {
    Collation = "collations" by collations {
        collname: Text,
    }
}

fn collations(_: &Gather<'_>) -> Vec<Collation> {
    let steps = ["icu_noaccent", "nfc", "noaccent", "nocase"];
    let mut names: Vec<&str> = inlay_functions::LOCALES.iter().copied().chain(steps).collect();
    names.sort_unstable();
    names.into_iter().map(|name| Collation { collname: text(name) }).collect()
}

system_table! {
    Memory = "memory" by memory {
        tag: Text,
        memory_usage_bytes: Big,
        temporary_storage_bytes: Big,
    }
}

fn memory(gather: &Gather<'_>) -> Vec<Memory> {
    let used = gather.names.database.budget().used();
    vec![Memory {
        tag: text("DATABASE"),
        memory_usage_bytes: number(used),
        temporary_storage_bytes: Value::BigInt(0),
    }]
}

system_table! {
    Resources = "resources" by resources {
        mode: Text,
        threads: Big,
        workers: Big,
        processors: Share,
        processors_of_others: Share,
        cpu_pressure: Share,
        memory_limit: Big,
        memory_used: Big,
        memory_available: Big,
        memory_pressure: Share,
        memory_is_short: Truth,
    }
}

/// What queries may use now, and what adaptive mode saw of the machine when it was last asked.
fn resources(gather: &Gather<'_>) -> Vec<Resources> {
    let database = &gather.names.database;
    let (settings, budget) = (database.settings(), database.budget());
    let seen = settings.seen();
    let share = |of: fn(&crate::resources::Seen) -> f64| {
        seen.as_ref().map_or(Value::Null, |seen| Value::Double((of(seen) * 100.0).round() / 100.0))
    };
    vec![Resources {
        mode: text(settings.mode_name()),
        threads: number(settings.pool().threads()),
        workers: number(settings.pool().allowed()),
        processors: share(|seen| seen.sample.processors),
        processors_of_others: share(|seen| seen.others),
        cpu_pressure: share(|seen| seen.sample.cpu_pressure),
        memory_limit: number(budget.limit()),
        memory_used: number(budget.used()),
        memory_available: seen.map_or(Value::Null, |seen| number(seen.sample.memory_available)),
        memory_pressure: share(|seen| seen.sample.memory_pressure),
        memory_is_short: seen.map_or(Value::Null, |seen| Value::Boolean(seen.is_short)),
    }]
}

system_table! {
    Variable = "variables" by variables {
        name: Text,
        value: Text,
        kind as "type": Text,
    }
}

fn variables(gather: &Gather<'_>) -> Vec<Variable> {
    let mut all: Vec<_> = gather.names.variables.iter().collect();
    all.sort_by(|left, right| left.0.cmp(right.0));
    let row = |(name, value): (&String, &Value)| Variable {
        name: text(name),
        value: text(value.to_string()),
        kind: text(value.logical_type().to_string()),
    };
    all.into_iter().map(row).collect()
}

system_table! {
    Prepared = "prepared_statements" by prepared {
        name: Text,
        statement: Text,
    }
}

fn prepared(gather: &Gather<'_>) -> Vec<Prepared> {
    let mut all: Vec<_> = gather.names.prepared.iter().collect();
    all.sort_by(|left, right| left.0.cmp(right.0));
    all.into_iter()
        .map(|(name, prepared)| Prepared { name: text(name), statement: text(prepared.statement.text()) })
        .collect()
}

system_table! {
    TemporaryFile = "temporary_files" by temporary_files {
        path: Text,
        size: Big,
    }
}

/// Files that queries of this process have open; where the system lets them be without a name, their directory.
fn temporary_files(gather: &Gather<'_>) -> Vec<TemporaryFile> {
    let temp = gather.names.database.settings().temp();
    let used = temp.used();
    if used == 0 {
        Vec::new()
    } else {
        vec![TemporaryFile { path: text(temp.directory().display().to_string()), size: number(used) }]
    }
}

system_table! {
    FileSpace = "file_space" by file_space {
        database_name: Text,
        block_size: Big,
        total_blocks: Big,
        used_blocks: Big,
        free_blocks: Big,
        wal_bytes: Big,
    }
}

fn file_space(gather: &Gather<'_>) -> Vec<FileSpace> {
    let mut rows = Vec::new();
    for seen in gather.databases().iter().filter(|seen| !seen.is_temporary()) {
        let Some(attached) = gather.names.database.attached(&seen.name) else { continue };
        let database_name = text(&seen.name);
        rows.push(match attached.store.space() {
            Some((space, log)) => FileSpace {
                database_name,
                block_size: number(inlay_storage::file::BLOCK_SIZE),
                total_blocks: number(space.block_count),
                used_blocks: number(space.used_count()),
                free_blocks: number(space.free_count + space.pending_count),
                wal_bytes: number(log),
            },
            None => {
                let zero = || Value::BigInt(0);
                FileSpace {
                    database_name,
                    block_size: zero(),
                    total_blocks: zero(),
                    used_blocks: zero(),
                    free_blocks: zero(),
                    wal_bytes: zero(),
                }
            }
        });
    }
    rows
}
