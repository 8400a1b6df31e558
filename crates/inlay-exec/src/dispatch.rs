//! Loops compiled for the CPU at hand: x86-64 baseline, AVX2 and AVX-512, chosen at each call by a cached test.

/// Whether AVX-512 (F, BW, CD, DQ, VL) and what comes before it are there.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512cd")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
        && has_avx2()
}

/// Whether AVX2, BMI 1 and 2, LZCNT and POPCNT are there.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt")
}

/// Defines a function that runs compiled for the CPU's level. Generics stand in brackets: `fn name[T: Native](..)`.
macro_rules! multiversion {
    ($(#[$meta:meta])* $vis:vis fn $name:ident [$($generics:tt)*] ($($arg:ident : $ty:ty),* $(,)?)
        $(-> $ret:ty)? $body:block) => {
        $(#[$meta])*
        // Of the module that calls the macro: it calls nothing but these three, on a CPU that has what they are compiled for.
        #[allow(unsafe_code)]
        $vis fn $name<$($generics)*>($($arg: $ty),*) $(-> $ret)? {
            #[inline(always)]
            fn body<$($generics)*>($($arg: $ty),*) $(-> $ret)? $body
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi1,bmi2,lzcnt,popcnt")]
                fn avx512<$($generics)*>($($arg: $ty),*) $(-> $ret)? {
                    body($($arg),*)
                }
                #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
                fn avx2<$($generics)*>($($arg: $ty),*) $(-> $ret)? {
                    body($($arg),*)
                }
                if $crate::dispatch::has_avx512() {
                    // SAFETY: the features were found on this CPU.
                    return unsafe { avx512($($arg),*) };
                }
                if $crate::dispatch::has_avx2() {
                    // SAFETY: as above.
                    return unsafe { avx2($($arg),*) };
                }
            }
            body($($arg),*)
        }
    };
}
pub(crate) use multiversion;

/// Asks for the cache line of `slice[index]`; harmless when `index` is outside.
#[inline(always)]
pub(crate) fn prefetch<T>(slice: &[T], index: usize) {
    inlay_types::view::prefetch(slice.as_ptr().wrapping_add(index).cast());
}
