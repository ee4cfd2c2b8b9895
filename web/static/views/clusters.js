// Clusters: orders over several machines whose containers have a private network.
import { get } from '../api.js';
import { el, fill } from '../dom.js';
import { empty, state } from '../parts.js';
import { money, when } from '../show.js';
import { table } from '../table.js';

// idOf names a cluster in addresses.
export const idOf = (c) => c.name || c.order;

export const typeOf = (c) => ({ ray: 'Ray', torch: 'PyTorch', shell: 'a command' })[c.type] ?? '–';

// membersOf says how many members run, of how many there are.
export const membersOf = (c) => `${c.members.filter((m) => m.status === 'running').length} of ${c.members.length || '?'} run`;

export async function clusters({ root, signal, every }) {
  const body = el('div');
  root.append(el('div', { class: 'view-head' }, el('div', {}, el('h1', { tabindex: -1 }, 'Clusters'), el('p', {}, 'A cluster is several machines with a private network, for Ray, PyTorch or a command of your own.')), el('a', { href: '#/newcluster', class: 'btn act' }, 'New cluster')), body);
  let shown = '';
  const load = async () => {
    const { clusters: all } = await get('/v1/clusters', signal);
    const now = JSON.stringify(all);
    if (now === shown) return;
    shown = now;
    fill(body, all.length === 0 ? empty('This server has bought none.', 'All machines of a cluster are awarded, or none.') : table('Clusters', 'The latest first.', ['Cluster', 'State', 'Runs', 'Machines', 'Used #', 'Reserved, the most it can cost #', 'Since'],
      all.map((c) => [el('a', { class: 'main', href: `#/cluster/${encodeURIComponent(idOf(c))}`, 'data-key': `cluster-${c.order}` }, idOf(c)), state(c.state), typeOf(c), membersOf(c),
        c.costAtMost ? money(c.costAtMost) : '–', money(c.costCap), when(c.createdAt)])));
  };
  await load();
  every(3000, load);
}
