// What machines that fit an order say of its image, before it is ordered.
import { get } from '../api.js';
import { el, fill, icon } from '../dom.js';
import { plural } from '../show.js';

// asked is how many machines are asked: as many as gantry deploy asks. They learn the image by it, so it waits until nobody types.
const [asked, after] = ['16', 1000];

const says = (r) => (r.fails
  ? el('p', { role: 'status', class: 'note' }, icon('warn'), el('span', {}, `This image ${r.says}, of machines that fit, of ${plural(r.owners, 'owner')}. It may fail for you too; nobody has recorded why.`))
  : el('p', { class: 't2 small' }, `This image ${r.says}, of those that fit.`));

// imageRuns asks when what is ordered has changed, and shows in its place what is known: nothing where nobody knows.
export function imageRuns(signal) {
  const place = el('div', { class: 'image-runs' });
  let [shown, timer] = ['', 0];
  const find = async (mine, q, image) => {
    const found = await get(`/v1/offers?${new URLSearchParams({ q, image, limit: asked })}`, signal).catch(() => null); // an order says what is wrong
    if (mine === shown && !signal.aborted && found?.image?.says) fill(place, says(found.image));
  };
  const ask = (terms, price, image) => {
    const q = `${terms} price<=${price}`;
    const now = image && `${q} ${image}`;
    if (now === shown) return;
    shown = now;
    clearTimeout(timer);
    fill(place);
    if (now) timer = setTimeout(() => find(now, q, image), after);
  };
  signal.addEventListener('abort', () => clearTimeout(timer));
  return { place, ask };
}
