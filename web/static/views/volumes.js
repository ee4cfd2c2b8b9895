// Volumes that outlive their leases, in the server's bucket: what they take, who uses them, and their end.
import { ask, get } from '../api.js';
import { confirmed } from '../dialog.js';
import { describe, el, fill } from '../dom.js';
import { address, empty, toast } from '../parts.js';
import { bytes, nb, plural, problem, when } from '../show.js';
import { table } from '../table.js';

const cost = (v) => v.costPerMonth && `${v.costPerMonth} ${v.currency ?? ''}`.trim();

const usedBy = (v) => v.usedBy && (v.usedBy.lease
  ? address(v.usedBy.lease, 'lease', { href: `#/lease/${encodeURIComponent(v.usedBy.lease)}`, key: `volume-lease-${v.name}` })
  : v.usedBy.says);

// newest is when the snapshot was made with which the next lease begins.
const newest = (v) => (v.unreadable ? '–' : v.newest ? (v.newest.at ? when(v.newest.at) : 'not in the bucket any more') : 'empty');

// removal asks, and removes a volume. What goes wrong is shown in failure; done draws the list anew.
function removal(v, failure, done) {
  const button = el('button', { type: 'button', class: 'btn stop sm', 'data-key': `delete-${v.name}`, 'aria-label': `Delete volume ${v.name}` }, 'Delete');
  button.addEventListener('click', async () => {
    failure.replaceChildren();
    const yes = await confirmed({
      title: `Delete volume ${v.name}?`, yes: 'Delete the volume', danger: true,
      body: el('div', {}, el('p', {}, 'All its snapshots are removed from the bucket. This cannot be taken back.'), describe(['Snapshots', String(v.snapshots)], ['In the bucket', bytes(v.storedBytes)])),
    });
    if (!yes) return;
    button.disabled = true;
    try {
      await ask('DELETE', `/v1/volumes/${encodeURIComponent(v.name)}`);
      toast(`Volume ${v.name} is deleted.`);
      await done();
    } catch (err) {
      if (err.name !== 'AbortError') failure.replaceChildren(problem(err, 'Not deleted'));
    }
    button.disabled = false;
  });
  return button;
}

export async function volumes({ root, signal, every }) {
  const failure = el('div');
  const body = el('div');
  root.append(el('div', { class: 'view-head' }, el('div', {}, el('h1', { tabindex: -1 }, 'Volumes'), el('p', {}, 'A volume that is kept outlives its lease, in the server’s bucket. The next lease with its name begins with its files.')), el('a', { href: '#/deploy', class: 'btn act' }, 'Deploy')), failure, body);
  let shown = '';
  const load = async () => {
    const { volumes: all } = await get('/v1/volumes', signal);
    const now = JSON.stringify(all);
    if (now === shown) return;
    shown = now;
    fill(body, all.length === 0 ? empty('There is none.', 'Name a volume in the form of Deploy, under “Advanced”, and tick “Keep the volume”.') : table('Volumes', 'By name.', ['Volume', 'Size #', 'Newest snapshot', 'In the bucket #', 'A month #', 'Used by', 'Note *', ''],
      all.map((v) => [v.name, v.sizeMiB ? bytes(v.sizeMiB * 1024 * 1024) : '–', newest(v), v.unreadable ? '–' : [bytes(v.storedBytes), el('div', { class: 'sub nowrap' }, plural(v.snapshots, 'snapshot'))], cost(v) || '–', usedBy(v) || `no${nb}lease`,
        v.unreadable, !v.usedBy && !v.unreadable && removal(v, failure, load)])));
  };
  try {
    await load();
  } catch (err) {
    if (err.status !== 409) throw err; // the server has no bucket, or has kept nothing yet
    const { detail, nextStep } = err.body;
    fill(body, empty(`${detail[0].toUpperCase()}${detail.slice(1)}.`, nextStep));
    return;
  }
  every(60_000, load); // each time the bucket is read
}
