// The map of regions: a dot for each whose place is known. Regions are what the machines' owners claim.
import { svg } from '../dom.js';
import { plural } from '../show.js';
import { degree, rows, top } from './land.js';
import { placeOf } from './regions.js';

const width = 290;
const unit = width / 360; // of a degree
const height = Math.round(rows.length * degree * unit);
const x = (lon) => ((lon + 180) * unit).toFixed(1);
const y = (lat) => ((top - lat) * unit).toFixed(1);

// land is a dot for each place that has land, as parts of one line that are not long.
const land = rows.map((row, i) => [...row].map((c, j) => (c === '#' ? `M${x(degree * (j + 0.5) - 180)} ${y(top - degree * (i + 0.5))}h0` : '')).join('')).join('');

const size = (free) => Math.min(14, 3 + 1.6 * Math.sqrt(free)).toFixed(1);

// map shows regions of { name, free, all }; choose is called with the name of one that is pressed. The list below it has the
// same for keyboards and screen readers.
export const map = (regions, chosen, choose) => svg('svg', { class: 'full map', viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': 'Map of the regions. The list below has the same.' },
  svg('path', { class: 'land', d: land }),
  regions.map((r) => [r, placeOf(r.name)]).filter(([, place]) => place).sort(([a], [b]) => b.free - a.free).map(([r, [lon, lat]]) => {
    const at = { cx: x(lon), cy: y(lat) };
    return svg('g', { class: chosen(r.name) ? 'spot on' : 'spot', 'data-region': r.name, on: { click: () => choose(r.name) } },
      svg('title', {}, `${r.name}: ${plural(r.free, 'free GPU')} of ${r.all}`), svg('circle', { class: 'halo', ...at, r: size(r.free) }), svg('circle', { class: 'core', ...at, r: 2.4 }), svg('circle', { class: 'hit', ...at, r: 9 }));
  }));
