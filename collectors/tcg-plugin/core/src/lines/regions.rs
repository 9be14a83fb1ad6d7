//! From an address to the region of memory that it is in, on x86-64
//! (Documentation/arch/x86/x86_64/mm.rst).

use crate::lines::guest::Memory;

/// A region of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Region {
    /// Addresses of programs, whoever accesses them.
    User,
    /// Pages of page tables.
    PageTables,
    /// The array of `struct page`.
    StructPage,
    /// Pages of slabs.
    Slab,
    /// What each processor has for itself.
    PerCpu,
    /// Stacks of the kernel.
    Stack,
    /// The kernel's code and variables, and those of modules.
    Image,
    /// Other memory that is mapped page by page.
    Vmalloc,
    /// Other pages of the direct map, such as pages of files and programs that the kernel fills.
    DirectMap,
    /// All else.
    Other,
    /// Lines that interrupts and threads of the kernel alone accessed, wherever they are.
    Outside,
}

/// How many there are.
pub const REGIONS: usize = 11;

impl Region {
    /// All of them, by number, with their names.
    pub const ALL: [(Region, &'static str); REGIONS] = [
        (Region::User, "user"),
        (Region::PageTables, "page-tables"),
        (Region::StructPage, "struct-page"),
        (Region::Slab, "slab"),
        (Region::PerCpu, "per-cpu"),
        (Region::Stack, "stack"),
        (Region::Image, "image"),
        (Region::Vmalloc, "vmalloc"),
        (Region::DirectMap, "direct-map"),
        (Region::Other, "other"),
        (Region::Outside, "outside"),
    ];
}

/// Where the kernel's image is mapped, and where what has fixed addresses begins.
const IMAGE: u64 = 0xffff_ffff_8000_0000;
const FIXED: u64 = 0xffff_ffff_ff00_0000;
/// Of four levels of page tables, where the kernel has no variables that say it.
const BASES: [u64; 3] = [
    0xffff_ea00_0000_0000,
    0xffff_8880_0000_0000,
    0xffff_c900_0000_0000,
];
/// The most bytes of the array of `struct page` that a guest can have.
const MOST_STRUCT_PAGES: u64 = 1 << 40;

/// Addresses of the kernel's variables; 0 for one that it does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Symbols {
    /// `vmemmap_base`, `page_offset_base`, `vmalloc_base`.
    pub bases: [u64; 3],
    /// `pcpu_base_addr`, `pcpu_unit_size`, `pcpu_nr_units`.
    pub per_cpu: [u64; 3],
    /// `kmem_cache`.
    pub kmem_cache: u64,
    /// `idt_table`.
    pub interrupts: u64,
}

impl Symbols {
    /// Those of an argument: hexadecimal numbers, with a colon between two.
    pub fn parse(text: &str) -> Option<Symbols> {
        let numbers = text.split(':').map(|one| u64::from_str_radix(one, 16).ok());
        let numbers: Vec<u64> = numbers.collect::<Option<_>>()?;
        let [a, b, c, d, e, f, kmem_cache, interrupts] = numbers[..] else {
            return None;
        };
        Some(Symbols {
            bases: [a, b, c],
            per_cpu: [d, e, f],
            kmem_cache,
            interrupts,
        })
    }
}

/// Where a kernel's regions are.
#[derive(Clone, Copy, Debug)]
pub struct Regions {
    /// The first `struct page`.
    pub struct_pages: u64,
    /// The direct map's first byte.
    pub direct_map: u64,
    vmalloc: u64,
    per_cpu: (u64, u64),
}

impl Regions {
    /// Those of the kernel that executes; None if its variables cannot be read yet.
    pub fn read(symbols: &Symbols, memory: &impl Memory) -> Option<Regions> {
        let mut bases = BASES;
        for (base, symbol) in bases.iter_mut().zip(symbols.bases) {
            if symbol != 0 {
                *base = memory.word(symbol)?;
            }
        }
        let [first, size, units] = symbols.per_cpu;
        let mut per_cpu = (0, 0);
        if ![first, size, units].contains(&0) {
            let bytes = u64::from(memory.half(size)?) * u64::from(memory.half(units)?);
            let first = memory.word(first)?;
            per_cpu = (first, first.saturating_add(bytes));
        }
        let [struct_pages, direct_map, vmalloc] = bases;
        Some(Regions {
            struct_pages,
            direct_map,
            vmalloc,
            per_cpu,
        })
    }

    /// The region of an address; [`Region::DirectMap`] for all of the direct map, whatever its
    /// pages are.
    #[inline]
    pub fn of(&self, address: u64) -> Region {
        if address >> 63 == 0 {
            Region::User
        } else if (self.per_cpu.0..self.per_cpu.1).contains(&address) {
            Region::PerCpu
        } else if (self.direct_map..self.vmalloc).contains(&address) {
            Region::DirectMap
        } else if self.struct_page(address).is_some() {
            Region::StructPage
        } else if (self.vmalloc..self.struct_pages).contains(&address) {
            Region::Vmalloc
        } else if (IMAGE..FIXED).contains(&address) {
            Region::Image
        } else {
            Region::Other
        }
    }

    /// Where in the array of `struct page` an address is.
    #[inline]
    pub fn struct_page(&self, address: u64) -> Option<u64> {
        let offset = address.wrapping_sub(self.struct_pages);
        (offset < MOST_STRUCT_PAGES).then_some(offset)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
/// Tests, and memory that is made for them.
pub mod tests {
    use std::collections::HashMap;

    use super::*;

    /// Bytes by address.
    #[derive(Default)]
    pub struct Made(pub HashMap<u64, u8>);

    impl Made {
        /// Put bytes there.
        pub fn put(&mut self, address: u64, bytes: &[u8]) {
            let each = bytes.iter().enumerate();
            self.0
                .extend(each.map(|(at, byte)| (address + at as u64, *byte)));
        }
    }

    impl Memory for Made {
        fn bytes(&self, address: u64, into: &mut [u8]) -> Option<()> {
            for (at, byte) in into.iter_mut().enumerate() {
                *byte = *self.0.get(&(address + at as u64))?;
            }
            Some(())
        }
    }

    #[test]
    fn addresses_are_in_the_documented_regions() {
        let regions = Regions::read(&Symbols::default(), &Made::default()).unwrap();
        for (address, region) in [
            (0x7fff_ffff_f000, Region::User),
            (0xffff_8880_0000_1000, Region::DirectMap),
            (0xffff_c900_0000_0000, Region::Vmalloc),
            (0xffff_ea00_0000_0040, Region::StructPage),
            (0xffff_fe00_0000_0000, Region::Other),
            (0xffff_ffff_8100_0000, Region::Image),
            (0xffff_ffff_c000_0000, Region::Image),
            (0xffff_ffff_ff5f_f000, Region::Other),
        ] {
            assert_eq!(regions.of(address), region, "{address:x}");
        }
    }

    #[test]
    fn variables_say_where_regions_are() {
        let symbols = Symbols::parse("10:20:30:40:50:60:0:0").unwrap();
        let mut memory = Made::default();
        assert!(Regions::read(&symbols, &memory).is_none());
        for (symbol, value) in [
            (0x10, 0xffd4_0000_0000_0000),
            (0x20, 0xff11_0000_0000_0000),
            (0x30, 0xffa0_0000_0000_0000),
            (0x40, 0xff11_0000_0010_0000_u64),
        ] {
            memory.put(symbol, &value.to_le_bytes());
        }
        memory.put(0x50, &0x1000u32.to_le_bytes());
        memory.put(0x60, &2u32.to_le_bytes());
        let regions = Regions::read(&symbols, &memory).unwrap();
        assert_eq!(regions.of(0xff11_0000_000f_ffff), Region::DirectMap);
        assert_eq!(regions.of(0xff11_0000_0010_1fff), Region::PerCpu);
        assert_eq!(regions.of(0xff11_0000_0010_2000), Region::DirectMap);
        assert_eq!(regions.of(0xffa0_0000_0000_0000), Region::Vmalloc);
        assert_eq!(regions.of(0xffd4_0000_0000_0000), Region::StructPage);
    }

    #[test]
    fn other_arguments_are_none() {
        for text in ["", "1:2", "1:2:3:4:5:6:7:x", "1:2:3:4:5:6:7:8:9"] {
            assert!(Symbols::parse(text).is_none(), "{text}");
        }
    }
}
