//! Plans for other programs: YAML, HTML, Graphviz and Mermaid, each from the same tree of boxes.
//!
//! Called by EXPLAIN (FORMAT ...) and by profiles. The text tree and JSON are in [`super::display`].

use super::display::{Annotate, Node, node};
use super::statement::{Drawing, Query};
use std::fmt::Write;

/// A plan in one of the forms.
pub fn drawn(query: &Query, annotate: Annotate<'_>, drawing: Drawing) -> String {
    let root = node(query);
    let mut out = String::new();
    match drawing {
        Drawing::Yaml => yaml(&mut out, &root, annotate, 0),
        Drawing::Html => html(&mut out, &root, annotate),
        Drawing::Graphviz => graphviz(&mut out, &root, annotate),
        Drawing::Mermaid => mermaid(&mut out, &root, annotate),
    }
    out
}

/// All that is said of a node, as name and value.
fn notes(node: &Node, annotate: Annotate<'_>) -> Vec<(&'static str, String)> {
    let estimate = node.estimate.map(|rows| ("estimated_rows", rows.round().to_string()));
    node.details.iter().cloned().chain(estimate).chain(annotate(node.number)).collect()
}

fn yaml(out: &mut String, node: &Node, annotate: Annotate<'_>, depth: usize) {
    let pad = "    ".repeat(depth);
    let _ = writeln!(out, "{pad}- name: {}", super::display::json_string(&node.operator));
    for (name, value) in notes(node, annotate) {
        let (name, value) = (super::display::json_string(name), super::display::json_string(&value));
        let _ = writeln!(out, "{pad}  {name}: {value}");
    }
    if !node.inputs.is_empty() {
        let _ = writeln!(out, "{pad}  children:");
        node.inputs.iter().for_each(|input| yaml(out, input, annotate, depth + 1));
    }
}

fn html(out: &mut String, root: &Node, annotate: Annotate<'_>) {
    const STYLE: &str = "body{font-family:sans-serif}ul{list-style:none}li>div{display:inline-block;border:1px solid #888;\
                         border-radius:4px;padding:4px 8px;margin:4px}";
    let _ = writeln!(
        out,
        "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>plan</title><style>{STYLE}</style></head><body>"
    );
    out.push_str("<ul>\n");
    html_item(out, root, annotate);
    out.push_str("</ul>\n</body></html>\n");
}

fn html_item(out: &mut String, node: &Node, annotate: Annotate<'_>) {
    let _ = write!(out, "<li><div><b>{}</b>", html_text(&node.operator));
    for (name, value) in notes(node, annotate) {
        let _ = write!(out, "<br>{}: {}", html_text(name), html_text(&value));
    }
    out.push_str("</div>");
    if !node.inputs.is_empty() {
        out.push_str("\n<ul>\n");
        node.inputs.iter().for_each(|input| html_item(out, input, annotate));
        out.push_str("</ul>");
    }
    out.push_str("</li>\n");
}

fn html_text(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn graphviz(out: &mut String, root: &Node, annotate: Annotate<'_>) {
    out.push_str("digraph G {\n    node [shape=box, style=rounded];\n");
    each(root, &mut |node| {
        let said = notes(node, annotate).into_iter().map(|(name, value)| format!("{name}: {value}"));
        let lines: Vec<String> = std::iter::once(node.operator.clone()).chain(said).collect();
        let escaped = |line: &String| line.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', " ");
        let label = lines.iter().map(escaped).collect::<Vec<_>>().join("\\n");
        let _ = writeln!(out, "    n{} [label=\"{label}\"];", node.number);
    });
    each(root, &mut |node| {
        for input in &node.inputs {
            let _ = writeln!(out, "    n{} -> n{};", node.number, input.number);
        }
    });
    out.push_str("}\n");
}

fn mermaid(out: &mut String, root: &Node, annotate: Annotate<'_>) {
    out.push_str("flowchart TD\n");
    each(root, &mut |node| {
        let said = notes(node, annotate).into_iter().map(|(name, value)| format!("{name}: {value}"));
        let lines: Vec<String> = std::iter::once(format!("<b>{}</b>", mermaid_text(&node.operator)))
            .chain(said.map(|line| mermaid_text(&line)))
            .collect();
        let _ = writeln!(out, "    n{}[\"{}\"]", node.number, lines.join("<br>"));
    });
    each(root, &mut |node| {
        for input in &node.inputs {
            let _ = writeln!(out, "    n{} --> n{}", node.number, input.number);
        }
    });
}

/// Mermaid takes entities as HTML does, and `#quot;` for the quote that ends a label.
fn mermaid_text(text: &str) -> String {
    text.replace('#', "#35;")
        .replace('"', "#quot;")
        .replace('<', "#lt;")
        .replace('>', "#gt;")
        .replace('\n', " ")
}

fn each(node: &Node, see: &mut dyn FnMut(&Node)) {
    see(node);
    node.inputs.iter().for_each(|input| each(input, see));
}
