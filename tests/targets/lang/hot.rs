// SPDX-License-Identifier: BSD-2-Clause
// hot.rs - main - run - hot_outer - hot_inner, with a closure, a sort and a panic that is caught in between.

// std::hint::black_box, for compilers before 1.66.
#[inline(always)]
fn black_box(x: u64) -> u64 {
    unsafe { std::ptr::read_volatile(&x) }
}

#[inline(never)]
fn hot_inner(mut x: u64) -> u64 {
    for _ in 0..20000 {
        x = black_box(x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407));
    }
    x
}

#[inline(never)]
fn hot_outer(x: u64) -> u64 {
    let mut values: Vec<u64> = (0..500).map(|i| hot_inner(x ^ i) % 1000).take(3).collect();
    values.extend((0..2000u64).map(|i| i.wrapping_mul(x) % 777));
    values.sort_by(|a, b| b.cmp(a));
    values[0] ^ hot_inner(x)
}

#[inline(never)]
fn run(mut x: u64) {
    loop {
        x = hot_outer(x);
        if let Err(_) = std::panic::catch_unwind(|| std::panic::resume_unwind(Box::new(x))) {
            x ^= 1;
        }
    }
}

fn main() {
    println!("ready {}", std::process::id());
    run(1);
}
