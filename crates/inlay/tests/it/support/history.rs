//! Recorded histories of transactions and the cycles among their dependencies, after Elle (Kingsbury and Alvaro, VLDB 2020).
//!
//! A register is a text to which transactions append unique numbers, so that one read tells the whole order of its
//! writes; a bag is a set of rows to which they add unique numbers, so that one read tells which writes it did not see,
//! though no row of theirs was there to be read. From these follow the dependencies between transactions:
//!
//! ```text
//! ww  a appended right before b did          wr  b read what a wrote         session  b ran after a on one connection
//! rw  a read a state that b's write replaced, or a bag in which b's number was missing
//! ```
//! The history is serialisable if they have no cycle. A number nobody committed (G1a), one that is there twice, and two
//! reads of a register of which neither begins the other are errors before any cycle is looked for.

use std::collections::HashMap;

/// One thing a transaction did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Appended a unique number to a register.
    Append(u32, u64),
    /// Read a register.
    Read(u32, Vec<u64>),
    /// Added a unique number to a bag.
    Add(u32, u64),
    /// Read a bag.
    ReadBag(u32, Vec<u64>),
}

/// A committed transaction.
#[derive(Clone, Debug)]
pub struct Transaction {
    /// Which connection ran it.
    pub session: u32,
    /// What it did, in order.
    pub operations: Vec<Operation>,
}

/// Which dependencies were found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dependencies {
    /// Write after write.
    pub ww: u64,
    /// Read of a write.
    pub wr: u64,
    /// Read of what a write replaced.
    pub rw: u64,
}

/// What is wrong with a history.
#[derive(Debug, PartialEq, Eq)]
pub enum Anomaly {
    /// A read that no order of writes explains.
    Read(String),
    /// Transactions, by their places, that depend on each other in a circle.
    Cycle(Vec<usize>),
}

/// Checks a history; `final_registers` holds the registers' last states.
pub fn check(
    history: &[Transaction],
    final_registers: &HashMap<u32, Vec<u64>>,
) -> Result<Dependencies, Anomaly> {
    let mut graph = Graph { edges: vec![Vec::new(); history.len()], found: Dependencies::default() };
    graph.sessions(history);
    graph.registers(history, final_registers)?;
    graph.bags(history)?;
    match largest_component(&graph.edges) {
        component if component.len() > 1 => Err(Anomaly::Cycle(shortest_cycle(&graph.edges, &component))),
        _ => Ok(graph.found),
    }
}

struct Graph {
    edges: Vec<Vec<usize>>,
    found: Dependencies,
}

impl Graph {
    fn edge(&mut self, from: usize, to: usize) -> u64 {
        if from == to {
            return 0;
        }
        self.edges[from].push(to);
        1
    }

    fn sessions(&mut self, history: &[Transaction]) {
        let mut last: HashMap<u32, usize> = HashMap::new();
        for (place, transaction) in history.iter().enumerate() {
            if let Some(earlier) = last.insert(transaction.session, place) {
                self.edge(earlier, place);
            }
        }
    }

    fn registers(&mut self, history: &[Transaction], finals: &HashMap<u32, Vec<u64>>) -> Result<(), Anomaly> {
        let writer = writers(history, |operation| match operation {
            Operation::Append(_, number) => Some(*number),
            _ => None,
        });
        for (key, order) in finals {
            for number in order {
                if !writer.contains_key(number) {
                    return Err(Anomaly::Read(format!(
                        "register {key} holds {number}, which nobody committed"
                    )));
                }
            }
            for pair in order.windows(2) {
                self.found.ww += self.edge(writer[&pair[0]], writer[&pair[1]]);
            }
        }
        for (place, transaction) in history.iter().enumerate() {
            let mut own: HashMap<u32, usize> = HashMap::new();
            for operation in &transaction.operations {
                match operation {
                    Operation::Append(key, number) => {
                        if !finals.get(key).is_some_and(|order| order.contains(number)) {
                            return Err(Anomaly::Read(format!("append {number} to register {key} is lost")));
                        }
                        *own.entry(*key).or_default() += 1;
                    }
                    Operation::Read(key, seen) => {
                        let order = finals.get(key).map_or(&[][..], Vec::as_slice);
                        if !order.starts_with(seen) {
                            return Err(Anomaly::Read(format!(
                                "transaction {place} read {seen:?} in register {key}, whose order is {order:?}"
                            )));
                        }
                        let own = own.get(key).copied().unwrap_or(0);
                        let last = seen.len().checked_sub(own).ok_or_else(|| {
                            Anomaly::Read(format!("transaction {place} does not see its own writes"))
                        })?;
                        if seen[last..].iter().any(|number| writer[number] != place) {
                            return Err(Anomaly::Read(format!(
                                "transaction {place} read {seen:?} in register {key}: not its own writes last"
                            )));
                        }
                        if let Some(before) = last.checked_sub(1) {
                            self.found.wr += self.edge(writer[&seen[before]], place);
                        }
                        if let Some(next) = order.get(seen.len()) {
                            self.found.rw += self.edge(place, writer[next]);
                        }
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn bags(&mut self, history: &[Transaction]) -> Result<(), Anomaly> {
        let writer = writers(history, |operation| match operation {
            Operation::Add(_, number) => Some(*number),
            _ => None,
        });
        let mut members: HashMap<u32, Vec<u64>> = HashMap::new();
        for operation in history.iter().flat_map(|transaction| &transaction.operations) {
            if let Operation::Add(key, number) = operation {
                members.entry(*key).or_default().push(*number);
            }
        }
        for (place, transaction) in history.iter().enumerate() {
            let mut own = Vec::new();
            for operation in &transaction.operations {
                match operation {
                    Operation::Add(_, number) => own.push(*number),
                    Operation::ReadBag(key, seen) => {
                        if let Some(number) = seen.iter().find(|number| !writer.contains_key(number)) {
                            return Err(Anomaly::Read(format!(
                                "bag {key} holds {number}, which nobody committed"
                            )));
                        }
                        let seen: std::collections::HashSet<u64> = seen.iter().copied().collect();
                        for number in members.get(key).map_or(&[][..], Vec::as_slice) {
                            if seen.contains(number) {
                                self.found.wr += self.edge(writer[number], place);
                            } else if writer[number] != place {
                                self.found.rw += self.edge(place, writer[number]);
                            } else if own.contains(number) {
                                return Err(Anomaly::Read(format!("transaction {place} misses its own row")));
                            }
                        }
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

fn writers(history: &[Transaction], written: impl Fn(&Operation) -> Option<u64>) -> HashMap<u64, usize> {
    let mut writers = HashMap::new();
    for (place, transaction) in history.iter().enumerate() {
        for number in transaction.operations.iter().filter_map(&written) {
            assert!(writers.insert(number, place).is_none(), "{number} was written twice: the test is wrong");
        }
    }
    writers
}

/// The largest strongly connected component (Tarjan, without recursion: histories are long).
fn largest_component(edges: &[Vec<usize>]) -> Vec<usize> {
    const NEW: usize = usize::MAX;
    let mut index = vec![NEW; edges.len()];
    let mut low = vec![0; edges.len()];
    let mut on_stack = vec![false; edges.len()];
    let (mut stack, mut largest, mut next) = (Vec::new(), Vec::new(), 0);
    for root in 0..edges.len() {
        if index[root] != NEW {
            continue;
        }
        let mut calls: Vec<(usize, usize)> = vec![(root, 0)];
        while let Some((node, edge)) = calls.pop() {
            if edge == 0 {
                (index[node], low[node]) = (next, next);
                next += 1;
                stack.push(node);
                on_stack[node] = true;
            }
            if let Some(&to) = edges[node].get(edge) {
                calls.push((node, edge + 1));
                if index[to] == NEW {
                    calls.push((to, 0));
                } else if on_stack[to] {
                    low[node] = low[node].min(index[to]);
                }
                continue;
            }
            if low[node] == index[node] {
                let from = stack.iter().rposition(|other| *other == node).unwrap();
                let component = stack.split_off(from);
                component.iter().for_each(|member| on_stack[*member] = false);
                if component.len() > largest.len() {
                    largest = component;
                }
            }
            if let Some((caller, _)) = calls.last() {
                low[*caller] = low[*caller].min(low[node]);
            }
        }
    }
    largest
}

/// A shortest cycle through the first members of a component: what a person wants to look at.
fn shortest_cycle(edges: &[Vec<usize>], component: &[usize]) -> Vec<usize> {
    const STARTS: usize = 100;
    let cycles = component.iter().take(STARTS).filter_map(|start| cycle_through(edges, *start));
    cycles.min_by_key(Vec::len).unwrap_or_else(|| component.to_vec())
}

/// A shortest way from a node back to itself, by breadth.
fn cycle_through(edges: &[Vec<usize>], start: usize) -> Option<Vec<usize>> {
    let mut came_from: HashMap<usize, usize> = HashMap::new();
    let mut queue = std::collections::VecDeque::from([start]);
    while let Some(node) = queue.pop_front() {
        for &to in &edges[node] {
            if to == start {
                let mut cycle = vec![node];
                while let Some(before) = came_from.get(cycle.last()?) {
                    cycle.push(*before);
                }
                cycle.reverse();
                return Some(cycle);
            }
            if let std::collections::hash_map::Entry::Vacant(entry) = came_from.entry(to) {
                entry.insert(node);
                queue.push_back(to);
            }
        }
    }
    None
}
