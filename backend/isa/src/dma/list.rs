//! A short list stored in place.

use std::fmt;
use std::ops::{Deref, DerefMut};

/// At most `N` items, stored in place, so that a descriptor is `Copy`.
#[derive(Clone, Copy)]
pub struct List<T, const N: usize> {
    items: [T; N],
    len: usize,
}

/// More items than a [`List`] holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany {
    pub limit: usize,
}

impl fmt::Display for TooMany {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at most {} are allowed", self.limit)
    }
}

impl std::error::Error for TooMany {}

impl<T: Copy + Default, const N: usize> List<T, N> {
    pub fn new() -> Self {
        Self { items: [T::default(); N], len: 0 }
    }

    /// Appends an item.
    ///
    /// # Errors
    ///
    /// When the list holds `N` items.
    pub fn push(&mut self, item: T) -> Result<(), TooMany> {
        let place = self.items.get_mut(self.len).ok_or(TooMany { limit: N })?;
        *place = item;
        self.len += 1;
        Ok(())
    }
}

impl<T: Copy + Default, const N: usize> Default for List<T, N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Copy + Default, const N: usize> TryFrom<&[T]> for List<T, N> {
    type Error = TooMany;

    fn try_from(items: &[T]) -> Result<Self, TooMany> {
        let mut list = Self::new();
        items.iter().try_for_each(|&item| list.push(item))?;
        Ok(list)
    }
}

impl<T, const N: usize> Deref for List<T, N> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.items[..self.len]
    }
}

impl<T, const N: usize> DerefMut for List<T, N> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.items[..self.len]
    }
}

impl<'a, T, const N: usize> IntoIterator for &'a List<T, N> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T: PartialEq, const N: usize> PartialEq for List<T, N> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Eq, const N: usize> Eq for List<T, N> {}

impl<T: std::hash::Hash, const N: usize> std::hash::Hash for List<T, N> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl<T: fmt::Debug, const N: usize> fmt::Debug for List<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
