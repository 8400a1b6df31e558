//! The files of the page, as the server sends them: path, media type, bytes. The address of the first is also that of the folder (`/`).
//!
//! `README.md` beside this says what the page asks of the server; `tests/test_page.py` checks that no file is missing here.

/// Headers of every file. The policy lets the page ask nobody but this server.
pub const HEADERS: &[(&str, &str)] = &[
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cache-control", "no-cache"),
];

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";
const TEXT: &str = "text/plain; charset=utf-8";

/// See the module documentation.
pub const FILES: &[(&str, &str, &[u8])] = &[
    ("index.html", HTML, include_bytes!("index.html")),
    ("style.css", CSS, include_bytes!("style.css")),
    ("icon.svg", SVG, include_bytes!("icon.svg")),
    ("js/api.js", SCRIPT, include_bytes!("js/api.js")),
    ("js/app.js", SCRIPT, include_bytes!("js/app.js")),
    ("js/catalog.js", SCRIPT, include_bytes!("js/catalog.js")),
    ("js/chart.js", SCRIPT, include_bytes!("js/chart.js")),
    ("js/complete.js", SCRIPT, include_bytes!("js/complete.js")),
    ("js/dom.js", SCRIPT, include_bytes!("js/dom.js")),
    ("js/draw.js", SCRIPT, include_bytes!("js/draw.js")),
    ("js/editor.js", SCRIPT, include_bytes!("js/editor.js")),
    ("js/grid.js", SCRIPT, include_bytes!("js/grid.js")),
    ("js/plan.js", SCRIPT, include_bytes!("js/plan.js")),
    ("js/result.js", SCRIPT, include_bytes!("js/result.js")),
    ("js/side.js", SCRIPT, include_bytes!("js/side.js")),
    ("js/sql.js", SCRIPT, include_bytes!("js/sql.js")),
    ("js/store.js", SCRIPT, include_bytes!("js/store.js")),
    ("js/values.js", SCRIPT, include_bytes!("js/values.js")),
    ("vendor/codemirror.js", SCRIPT, include_bytes!("vendor/codemirror.js")),
    ("vendor/LICENSES.txt", TEXT, include_bytes!("vendor/LICENSES.txt")),
];
