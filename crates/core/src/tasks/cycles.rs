//! Finds tasks that wait for each other in a cycle.
//!
//! A graph can have an astronomical number of cycles. For each task in any cycle, this finds only the
//! shortest one through it. Together they name every task concerned.

use std::collections::{BTreeSet, VecDeque};

/// Limits for very large cycles, which no one would read about in full: the number of vertices searched
/// from, and the total length of the cycles after which the search stops.
const ASKED: usize = 200;
const TOLD: usize = 10_000;

/// Returns the cycles of a graph; `waits_for` has the targets of each vertex. Each cycle starts at its
/// lowest vertex and appears once. Cycles are in the order of the vertex where they were found.
pub(super) fn cycles(waits_for: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let is_knotted = knotted(waits_for);
    let knotted = is_knotted.iter().enumerate().filter(|(_, is_knotted)| **is_knotted);
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    let mut told = 0;
    for (start, _) in knotted.take(ASKED) {
        let Some(ring) = shortest_through(start, waits_for, &is_knotted) else { continue };
        told += ring.len();
        let ring = from_lowest(ring);
        if seen.insert(ring.clone()) {
            found.push(ring);
        }
        if told >= TOLD {
            break;
        }
    }
    found
}

/// Marks the vertices that remain after repeatedly removing those that wait for nothing or that nothing
/// waits for. They include all cycles.
fn knotted(waits_for: &[Vec<usize>]) -> Vec<bool> {
    let mut awaited_by = vec![Vec::new(); waits_for.len()];
    for (vertex, targets) in waits_for.iter().enumerate() {
        for target in targets {
            if let Some(list) = awaited_by.get_mut(*target) {
                list.push(vertex);
            }
        }
    }
    let mut left = vec![true; waits_for.len()];
    peel(&mut left, waits_for, &awaited_by);
    peel(&mut left, &awaited_by, waits_for);
    left
}

fn holds(marks: &[bool], vertex: usize) -> bool {
    marks.get(vertex).copied().unwrap_or(false)
}

/// Removes vertices without outgoing edges, until none are left.
fn peel(left: &mut [bool], out: &[Vec<usize>], into: &[Vec<usize>]) {
    let counted = |targets: &Vec<usize>| targets.iter().filter(|target| holds(left, **target)).count();
    let mut counts: Vec<usize> = out.iter().map(counted).collect();
    let is_loose = |vertex: &usize| holds(left, *vertex) && counts.get(*vertex) == Some(&0);
    let mut loose: Vec<usize> = (0..out.len()).filter(is_loose).collect();
    while let Some(vertex) = loose.pop() {
        if let Some(mark) = left.get_mut(vertex) {
            *mark = false;
        }
        for before in into.get(vertex).into_iter().flatten().copied() {
            let Some(count) = counts.get_mut(before).filter(|_| holds(left, before)) else { continue };
            *count = count.saturating_sub(1);
            if *count == 0 {
                loose.push(before);
            }
        }
    }
}

/// Returns the shortest path from a vertex back to itself.
fn shortest_through(start: usize, waits_for: &[Vec<usize>], within: &[bool]) -> Option<Vec<usize>> {
    let mut came_from = vec![None; waits_for.len()];
    let mut queue = VecDeque::from([start]);
    while let Some(vertex) = queue.pop_front() {
        for target in waits_for.get(vertex)?.iter().copied().filter(|target| holds(within, *target)) {
            if target == start {
                return Some(way_to(vertex, start, &came_from));
            }
            let from = came_from.get_mut(target)?;
            if from.is_none() {
                *from = Some(vertex);
                queue.push_back(target);
            }
        }
    }
    None
}

/// Returns the path from `start` to a vertex, both included.
fn way_to(vertex: usize, start: usize, came_from: &[Option<usize>]) -> Vec<usize> {
    let mut way = vec![vertex];
    let mut at = vertex;
    while at != start {
        let Some(before) = came_from.get(at).copied().flatten() else { break };
        way.push(before);
        at = before;
    }
    way.reverse();
    way
}

fn from_lowest(mut ring: Vec<usize>) -> Vec<usize> {
    let lowest = ring.iter().enumerate().min_by_key(|(_, vertex)| **vertex).map_or(0, |(place, _)| place);
    ring.rotate_left(lowest);
    ring
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_graph_without_rings_has_none() {
        assert_eq!(cycles(&[]), Vec::<Vec<usize>>::new());
        assert_eq!(cycles(&[vec![1, 2], vec![2], vec![]]), Vec::<Vec<usize>>::new());
    }

    #[test]
    fn a_vertex_that_waits_for_itself_is_a_ring() {
        assert_eq!(cycles(&[vec![], vec![1, 0]]), [[1]]);
    }

    #[test]
    fn the_shortest_ring_through_each_vertex_is_found_once() {
        // 0 waits for 1 for 2 for 0, and 1 and 2 for each other; 3 hangs on, 4 is hung on.
        let graph = [vec![1], vec![2], vec![0, 1, 4], vec![0], vec![]];
        assert_eq!(cycles(&graph), [vec![0, 1, 2], vec![1, 2]]);
    }

    #[test]
    fn separate_rings_are_all_found() {
        let graph = [vec![1], vec![0], vec![3], vec![4], vec![2]];
        assert_eq!(cycles(&graph), [vec![0, 1], vec![2, 3, 4]]);
    }

    #[test]
    fn what_only_joins_two_rings_is_in_none() {
        let graph = [vec![0, 1], vec![2], vec![2]];
        assert_eq!(cycles(&graph), [[0], [2]]);
    }

    #[test]
    fn a_large_knot_is_found_quickly() {
        let size = 20_000;
        let ring: Vec<Vec<usize>> = (0..size).map(|vertex| vec![(vertex + 1) % size]).collect();
        assert_eq!(cycles(&ring).len(), 1);
        let chain: Vec<Vec<usize>> =
            (0..size).map(|vertex| Vec::from_iter((vertex > 0).then(|| vertex - 1))).collect();
        assert!(cycles(&chain).is_empty());
    }
}
