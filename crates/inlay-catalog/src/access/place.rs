//! Where a path leads: what allowed paths and asked ones are compared by.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// Links that are followed on one way; more is a circle.
const LINKS_MAX: usize = 40;

/// The place of a path, without links, `.` and `..`, whether or not something is there; or of a URL. None if it is like no
/// other: nothing may be compared with it.
pub(super) fn place_of(path: &str) -> Option<PathBuf> {
    match scheme_of(path) {
        Some((scheme, rest)) => url_place(scheme, rest),
        None => resolved(Path::new(path)),
    }
}

fn scheme_of(path: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = path.split_once("://")?;
    let is_scheme = scheme.len() >= 2
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-._".contains(&byte));
    is_scheme.then_some((scheme, rest))
}

/// A URL as it is compared: scheme and host in lower case. One whose way goes back (`..`), or is spelled so that a server may
/// take it for such, is like no other.
fn url_place(scheme: &str, rest: &str) -> Option<PathBuf> {
    let plain = rest.to_ascii_lowercase().replace("%2e", ".");
    let goes_back = plain.split(['/', '?']).any(|part| matches!(part, "." | ".."));
    if goes_back || ["\\", "%5c", "%2f"].iter().any(|odd| plain.contains(odd)) {
        return None;
    }
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (scheme, host) = (scheme.to_ascii_lowercase(), host.to_ascii_lowercase());
    Some(PathBuf::from(format!("{scheme}://{host}/{path}")))
}

/// A step of a way.
enum Step {
    /// Root, or the prefix of a disk.
    Root(OsString),
    Up,
    Into(OsString),
}

/// Follows links by reading them, so that one that leads to nothing leads there, too.
fn resolved(path: &Path) -> Option<PathBuf> {
    let absolute = std::path::absolute(path).ok()?;
    let mut steps: Vec<Step> = steps_of(&absolute);
    let (mut known, mut links) = (PathBuf::new(), 0);
    while let Some(step) = steps.pop() {
        match step {
            Step::Root(root) => known.push(root),
            Step::Up => {
                known.pop();
            }
            Step::Into(name) => {
                let next = known.join(name);
                let Ok(target) = std::fs::read_link(&next) else {
                    known = next;
                    continue;
                };
                links += 1;
                if links > LINKS_MAX {
                    return None;
                }
                // An absolute target begins with a root, which replaces what is known.
                steps.extend(steps_of(&target));
            }
        }
    }
    Some(known)
}

/// The steps of a path, the first one last.
fn steps_of(path: &Path) -> Vec<Step> {
    let step = |component: Component<'_>| match component {
        Component::Prefix(_) | Component::RootDir => Some(Step::Root(component.as_os_str().to_owned())),
        Component::CurDir => None,
        Component::ParentDir => Some(Step::Up),
        Component::Normal(name) => Some(Step::Into(name.to_owned())),
    };
    path.components().rev().filter_map(step).collect()
}
