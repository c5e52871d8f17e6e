//! The warden: waits beside a gateway and ends those process groups of its servers that outlive it.

use std::collections::BTreeSet;
use std::io::BufRead;
use std::time::Duration;

/// How long children may take to end after the gateway is gone: they see the end of their input.
const AFTER_EOF: Duration = Duration::from_secs(1);
/// How long they may take after they were asked to end.
const AFTER_TERM: Duration = Duration::from_millis(500);

/// Reads `+GROUP` and `-GROUP` line by line; at the end of the input, ends the groups that are left.
pub(crate) fn run() {
    let left = left_over(std::io::stdin().lock());
    if left.is_empty() {
        return;
    }
    std::thread::sleep(AFTER_EOF);
    end(&left, Way::Ask);
    std::thread::sleep(AFTER_TERM);
    end(&left, Way::Insist);
}

/// The groups that were begun and not ended.
fn left_over(input: impl BufRead) -> BTreeSet<i32> {
    let mut groups = BTreeSet::new();
    for line in input.lines().map_while(Result::ok) {
        let group = |number: &str| number.parse().ok().filter(|group| *group > 1);
        if let Some(group) = line.strip_prefix('+').and_then(group) {
            groups.insert(group);
        } else if let Some(group) = line.strip_prefix('-').and_then(group) {
            groups.remove(&group);
        }
    }
    groups
}

#[derive(Clone, Copy)]
enum Way {
    Ask,
    Insist,
}

#[cfg(unix)]
fn end(groups: &BTreeSet<i32>, way: Way) {
    use nix::sys::signal::{Signal, killpg};
    let signal = match way {
        Way::Ask => Signal::SIGTERM,
        Way::Insist => Signal::SIGKILL,
    };
    for group in groups {
        // A group that is gone needs no end.
        killpg(nix::unistd::Pid::from_raw(*group), signal).ok();
    }
}

#[cfg(not(unix))]
fn end(_groups: &BTreeSet<i32>, _way: Way) {}

#[cfg(test)]
mod tests {
    use super::left_over;

    #[test]
    fn only_groups_that_were_begun_and_not_ended_are_left() {
        let left = left_over("+12\n+13\n-12\nx\n+\n+-5\n+0\n+1\n+14".as_bytes());
        assert_eq!(left.into_iter().collect::<Vec<_>>(), [13, 14]);
    }
}
