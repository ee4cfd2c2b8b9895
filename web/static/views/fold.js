// Equal neighbours of an audit's steps: which of them are folded, and what is said in their place.
import { nb } from '../show.js';

// least is how many equal blocks are folded; the first of them stays.
const least = 3;

// nouns are the words for blocks of steps, each for one and for several.
const nouns = {
  verified: ['report', 'reports'], paid: ['settlement', 'settlements'], extend: ['extension', 'extensions'], vote: ['vote', 'votes'], checkpoint: ['snapshot', 'snapshots'],
  'verified paid': ['report with its settlement', 'reports with their settlements'], 'paid verified': ['settlement with its report', 'settlements with their reports'],
};

// same reports whether two blocks are alike: the same steps, all of them right.
const same = (all, a, b, size) => Array.from({ length: size }, (_, k) => k).every((k) => all[b + k] && all[a + k].name === all[b + k].name && all[b + k].outcome === 'right' && all[a + k].outcome === 'right');

// repeats is how many blocks of a size follow each other from a place on.
function repeats(all, from, size) {
  let n = 1;
  while (same(all, from, from + n * size, size)) n++;
  return n;
}

// folds parts steps: { from, to } are shown, { from, to, words } folded. A step that is not right is never folded.
export function folds(all) {
  const out = [];
  for (let i = 0; i < all.length;) {
    const size = repeats(all, i, 1) >= least ? 1 : 2;
    const n = repeats(all, i, size);
    if (n < least) {
      out.push({ from: i, to: i + 1 });
      i++;
      continue;
    }
    const key = all.slice(i, i + size).map((s) => s.name).join(' ');
    const [one, several] = Object.hasOwn(nouns, key) ? nouns[key] : ['step', 'steps'];
    const more = size > 1 && !Object.hasOwn(nouns, key) ? (n - 1) * size : n - 1;
    out.push({ from: i, to: i + size }, { from: i + size, to: i + n * size, words: `${more}${nb}more ${more === 1 ? one : several} like this` });
    i += n * size;
  }
  return out;
}
