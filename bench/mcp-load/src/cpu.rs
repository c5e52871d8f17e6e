//! Processor time of other processes, from /proc.

use anyhow::{Context as _, Result};

/// User and system time of these processes since they started, in microseconds; a process that is gone counts nothing.
pub(crate) fn micros(pids: &[u32]) -> f64 {
    let ticks: u64 = pids.iter().filter_map(|pid| of(*pid).ok()).sum();
    ticks as f64 * 1e6 / rustix::param::clock_ticks_per_second() as f64
}

fn of(pid: u32) -> Result<u64> {
    ticks(&std::fs::read_to_string(format!("/proc/{pid}/stat"))?)
}

/// `utime` and `stime` of a stat line, fields 14 and 15 in proc_pid_stat(5); the command's name may hold anything.
fn ticks(stat: &str) -> Result<u64> {
    let (_, rest) = stat.rsplit_once(')').context("no command in a stat line")?;
    let mut fields = rest.split_ascii_whitespace().skip(11);
    let mut next = || fields.next().context("a short stat line");
    Ok(next()?.parse::<u64>()? + next()?.parse::<u64>()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_and_system_time_are_found_behind_any_name() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194560 100 0 0 0 30 12 0 0 20 0 1 0 1 1 1";
        assert_eq!(ticks(stat).unwrap(), 42);
        assert!(ticks("7 (x) S 1").is_err());
    }
}
