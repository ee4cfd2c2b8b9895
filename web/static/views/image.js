// The image of a job that has not begun, as its machine reports it.
import { get } from '../api.js';
import { el, fill } from '../dom.js';
import { partBar } from '../figures.js';
import { inCard } from '../parts.js';
import { bytes, nb, span, three } from '../show.js';

const every = 2000;

// words say what the machine does, what of it is done (null: not known) and what else is known.
export function words(i) {
  const all = i.totalBytes;
  const layers = i.layers > 0 && `${i.layersDone} of ${i.layers}${nb}layers`;
  const still = i.stillSeconds >= 10 && `nothing has come for ${span(i.stillSeconds)}`;
  switch (i.phase) {
    case 'fetching': return {
      says: 'Fetching the image', part: all ? i.doneBytes / all : null, size: all ? `${bytes(i.doneBytes)} of ${bytes(all)}` : bytes(i.doneBytes),
      more: [still || `${three(i.bytesPerSecond / 1e6)}${nb}MB/s`, !still && all && i.bytesPerSecond > 0 && `about ${span(Math.max(1, (all - i.doneBytes) / i.bytesPerSecond))} left`, layers],
    };
    case 'unpacking': return { says: 'Unpacking the image', part: all ? i.unpackedBytes / all : null, size: bytes(all), more: [i.stillSeconds >= 10 && `nothing was unpacked for ${span(i.stillSeconds)}`, layers] };
    case 'ready': return { says: 'The image is there', part: 1, size: bytes(all), more: ['the container starts'] };
    case 'failed': return { says: 'The image did not come, and the machine tries again', part: all ? i.doneBytes / all : null, size: all ? `${bytes(i.doneBytes)} of ${bytes(all)}` : '–', more: [i.why], bad: true };
    default: return { says: 'Asking the registry for the image', part: null, size: '–', more: [i.stillSeconds >= 10 && `it has not answered for ${span(i.stillSeconds)}`] };
  }
}

// image shows it while the lease waits for its start.
export function image(lease, signal) {
  const body = el('div', { class: 'stack-8' }, el('p', { class: 't3 small' }, 'Asking the machine.'));
  const draw = (i) => {
    const w = words(i);
    fill(body, el('div', { class: 'row between base' }, el('span', { class: 'medium' }, w.says), el('span', { 'data-image': 'size' }, w.size)),
      partBar(w.part, `${w.says}: ${w.size}`), el('p', { class: w.bad ? 'bad small' : 't2 small', 'data-image': 'more' }, w.more.filter(Boolean).join(' · ') || '–'));
  };
  const ask = async () => {
    try {
      const { image: i } = await get(`/v1/leases/${encodeURIComponent(lease)}/job`, signal);
      if (i) draw(i);
    } catch { // the machine may not have the job yet: it is asked again
    }
    if (!signal.aborted) setTimeout(ask, every);
  };
  ask();
  return inCard({ name: 'Image', end: el('span', { class: 't3 small' }, 'as the machine reports it') }, body);
}
