//! `inlay_secrets()`: which secrets there are, without what is secret of them.

use super::gather::{Gather, text, texts};
use super::system_table;
use inlay_formats::remote::secrets::Provider;
use inlay_types::Value;

system_table! {
    SecretRow = "secrets" by secrets {
        name: Text,
        kind as "type": Text,
        provider: Text,
        persistent: Truth,
        storage: Text,
        scope: Texts,
        secret_string: Text,
    }
}

fn secrets(gather: &Gather<'_>) -> Vec<SecretRow> {
    let all = gather.names.database.settings().files().secrets().all();
    let row = |secret: &std::sync::Arc<inlay_formats::remote::secrets::Secret>| {
        let provider = match secret.provider {
            Provider::Config => "config",
            Provider::CredentialChain => "credential_chain",
        };
        SecretRow {
            name: text(&secret.name),
            kind: text(secret.kind.name()),
            provider: text(provider),
            persistent: Value::Boolean(false),
            storage: text("memory"),
            scope: texts(secret.scopes.clone()),
            secret_string: text(secret.shown()),
        }
    };
    all.iter().map(row).collect()
}
