use hashbrown::HashMap;

use crate::address_space::{AddressSpace, Builder, Mapping, Parent};
use crate::places::UNMAPPED;
use crate::statistics::Statistics;

/// Forks without exec that a lookup follows to where something was mapped.
const MOST_FORKS: u32 = 64;

/// What changes processes, told in any order.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    Map {
        pid: u32,
        start: u64,
        length: u64,
        offset: u64,
        object: u32,
    },
    Fork {
        pid: u32,
        parent: u32,
        thread: u32,
        parent_thread: u32,
    },
    Name {
        pid: u32,
        thread: u32,
        name: u32,
        exec: bool,
    },
}

/// Who was what at any time: the address space of each process and the name of each thread.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    spaces: Vec<AddressSpace>,
    /// By pid: from when on it had which space.
    space_of: HashMap<u32, Vec<(u64, u32)>>,
    /// By thread: from when on it had which name.
    name_of: HashMap<u32, Vec<(u64, u32)>>,
}

impl Timeline {
    /// Put `events`, each with its time and its number in the file, in order and replay them.
    pub(crate) fn replay(mut events: Vec<(u64, u64, Event)>, statistics: &mut Statistics) -> Self {
        events.sort_by_key(|(time, ordinal, _)| (*time, *ordinal));
        let mut builders: Vec<Builder> = Vec::new();
        let mut timeline = Timeline::default();
        for (time, _, event) in events {
            match event {
                Event::Map {
                    pid,
                    start,
                    length,
                    offset,
                    object,
                } => {
                    let space = timeline.present_space(pid, time, &mut builders);
                    let mapping = Mapping {
                        object,
                        start,
                        offset,
                    };
                    let end = start.saturating_add(length);
                    if end > start {
                        builders[space as usize].map(start, end, time, mapping);
                    }
                }
                Event::Fork {
                    pid,
                    parent,
                    thread,
                    parent_thread,
                } => {
                    if let Some(name) = last(&timeline.name_of, parent_thread) {
                        timeline
                            .name_of
                            .entry(thread)
                            .or_default()
                            .push((time, name));
                    }
                    if pid == parent {
                        continue; // a thread
                    }
                    let from = last(&timeline.space_of, parent);
                    let mut builder = Builder::default();
                    if let Some(from) = from {
                        builder.depth = builders[from as usize].depth + 1;
                        if builder.depth <= MOST_FORKS {
                            builder.parent = Some(Parent::Fork(from, time));
                        } else {
                            statistics.deep_forks += 1;
                        }
                    }
                    timeline.enter_space(pid, time, builder, &mut builders);
                }
                Event::Name {
                    pid,
                    thread,
                    name,
                    exec,
                } => {
                    timeline
                        .name_of
                        .entry(thread)
                        .or_default()
                        .push((time, name));
                    if exec {
                        let mut builder = Builder::default();
                        let before = last(&timeline.space_of, pid);
                        builder.parent = before.map(|space| Parent::Exec(space, time));
                        timeline.enter_space(pid, time, builder, &mut builders);
                    }
                }
            }
        }
        timeline.spaces = builders.into_iter().map(Builder::finish).collect();
        timeline
    }

    fn present_space(&mut self, pid: u32, time: u64, builders: &mut Vec<Builder>) -> u32 {
        match last(&self.space_of, pid) {
            Some(space) => space,
            None => self.enter_space(pid, time, Builder::default(), builders),
        }
    }

    fn enter_space(
        &mut self,
        pid: u32,
        time: u64,
        builder: Builder,
        builders: &mut Vec<Builder>,
    ) -> u32 {
        let space = builders.len() as u32;
        builders.push(builder);
        self.space_of.entry(pid).or_default().push((time, space));
        space
    }

    /// The address space of a process then, and a number that changes with its mappings.
    pub(crate) fn space(&self, pid: u32, time: u64) -> Option<(u32, u32)> {
        let space = at(self.space_of.get(&pid)?, time)?;
        Some((space, self.spaces[space as usize].generation(time)))
    }

    /// The name of a thread then: an index into the strings.
    pub(crate) fn name(&self, thread: u32, time: u64) -> Option<u32> {
        at(self.name_of.get(&thread)?, time)
    }

    /// The object and the place in it at an address of user space.
    pub(crate) fn place(&self, space: Option<u32>, address: u64, mut time: u64) -> (u32, u64) {
        let mut next = space;
        let mut replaced = false;
        while let Some(space) = next {
            let space = &self.spaces[space as usize];
            if let Some(mapping) = space.find(address, time) {
                let place = address.wrapping_sub(mapping.start);
                return (mapping.object, place.wrapping_add(mapping.offset));
            }
            next = match space.parent() {
                Some(Parent::Fork(parent, since)) => {
                    time = time.min(since);
                    Some(parent)
                }
                // What was replaced before that is long gone.
                Some(Parent::Exec(before, since)) if !replaced => {
                    time = time.min(since);
                    replaced = true;
                    Some(before)
                }
                _ => None,
            };
        }
        (UNMAPPED, address)
    }
}

fn last(of: &HashMap<u32, Vec<(u64, u32)>>, key: u32) -> Option<u32> {
    of.get(&key)?.last().map(|(_, value)| *value)
}

fn at(history: &[(u64, u32)], time: u64) -> Option<u32> {
    let after = history.partition_point(|(since, _)| *since <= time);
    // Perf tells the present state of a process a moment after samples may have begun.
    history
        .get(after.saturating_sub(1))
        .map(|(_, value)| *value)
}
