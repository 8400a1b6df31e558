//! `inlay_secrets()`: which secrets there are, without what is secret of them.

use super::Rows;
use super::gather::{Gather, text, texts};
use inlay_formats::remote::secrets::Provider;
use inlay_types::Value;

pub(super) const COLUMNS: &[(&str, char)] = &[
    ("name", 't'),
    ("type", 't'),
    ("provider", 't'),
    ("persistent", 'b'),
    ("storage", 't'),
    ("scope", 'l'),
    ("secret_string", 't'),
];

pub(super) fn secrets(gather: &Gather<'_>) -> Rows {
    let all = gather.names.database.settings().files().secrets().all();
    let row = |secret: &std::sync::Arc<inlay_formats::remote::secrets::Secret>| {
        let provider = match secret.provider {
            Provider::Config => "config",
            Provider::CredentialChain => "credential_chain",
        };
        vec![
            text(&secret.name),
            text(secret.kind.name()),
            text(provider),
            Value::Boolean(false),
            text("memory"),
            texts(secret.scopes.clone()),
            text(secret.shown()),
        ]
    };
    all.iter().map(row).collect()
}
