// Draws a QR code, dark on light in every colour scheme: readers want that.
import { el } from './dom.js';

const scale = 6; // pixels a module

// drawing is the picture of a code as the server gives it: its size in modules, and the path of the dark ones.
export function drawing({ size, path }, label) {
  const canvas = el('canvas', { role: 'img', 'aria-label': label });
  canvas.width = canvas.height = size * scale;
  const c = canvas.getContext('2d');
  c.scale(scale, scale);
  c.fillStyle = '#ffffff';
  c.fillRect(0, 0, size, size);
  c.fillStyle = '#000000';
  c.fill(new Path2D(path));
  return canvas;
}
