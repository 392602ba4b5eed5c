import type { ServerName } from '../servers.ts';
import type { Figure } from './figures.ts';

const PANELS_PER_LINE = 2;
const PANEL = { width: 560, gap: 40, titleHeight: 44, bottom: 26 };
const BAR = { height: 16, step: 23, labelWidth: 190, valueWidth: 92 };
const PAGE = { margin: 36, header: 78 };

const COLORS: Record<ServerName, string> = {
  'node-http': '#8a94a6',
  'fastify-drizzle': '#e0b05c',
  'fastify-pg': '#c98f3a',
  'node-http2': '#8a94a6',
  'grpc-js': '#6fa8a0',
  'connect-node': '#9a8fc9',
  usher: '#2f6fde',
};

/** Returns a bar chart as an SVG document: a panel per call, a bar per server and protocol. */
export function drawPlot(figures: readonly Figure[], calls: readonly string[], machine: string): string {
  const panels = calls.map((call) => ({ call, bars: figures.filter((figure) => figure.call === call) }));
  const panelHeight =
    PANEL.titleHeight + BAR.step * Math.max(1, ...panels.map(({ bars }) => bars.length)) + PANEL.bottom;
  const lines = Math.ceil(panels.length / PANELS_PER_LINE);
  const width = 2 * PAGE.margin + PANELS_PER_LINE * PANEL.width + (PANELS_PER_LINE - 1) * PANEL.gap;
  const height = PAGE.header + lines * panelHeight + PAGE.margin;

  const drawn = panels.map(({ call, bars }, index) => {
    const x = PAGE.margin + (index % PANELS_PER_LINE) * (PANEL.width + PANEL.gap);
    const y = PAGE.header + Math.floor(index / PANELS_PER_LINE) * panelHeight;
    return `<g transform="translate(${x} ${y})">${drawPanel(call, bars)}</g>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"
  font-family="system-ui, -apple-system, 'Segoe UI', sans-serif" font-size="12">
<rect width="100%" height="100%" fill="#ffffff"/>
<text x="${PAGE.margin}" y="40" font-size="20" font-weight="600" fill="#1c2430">CPU per request of the server process</text>
<text x="${PAGE.margin}" y="60" fill="#667085">Microseconds, less is better; the dashed line is node:http by hand. ${escapeXml(machine)}</text>
${drawn.join('\n')}
</svg>
`;
}

function drawPanel(call: string, bars: readonly Figure[]): string {
  const maxLength = PANEL.width - BAR.labelWidth - BAR.valueWidth;
  const longest = Math.max(...bars.map(({ cpuMicros }) => cpuMicros));
  const toLength = (cpuMicros: number) => (maxLength * cpuMicros) / longest;
  const drawn = bars.map((figure, index) => drawBar(figure, PANEL.titleHeight + index * BAR.step, toLength));
  const lowerBound = bars.find(({ server }) => server === 'node-http');
  const lineX = lowerBound && BAR.labelWidth + toLength(lowerBound.cpuMicros);
  const line =
    lineX === undefined
      ? ''
      : `<line x1="${round(lineX)}" x2="${round(lineX)}" y1="${PANEL.titleHeight - 5}" y2="${
          PANEL.titleHeight + bars.length * BAR.step
        }" stroke="#8a94a6" stroke-dasharray="3 3"/>`;
  return `<text x="0" y="26" font-size="15" font-weight="600" fill="#1c2430">${escapeXml(call)}</text>${drawn.join('')}${line}`;
}

function drawBar(figure: Figure, y: number, toLength: (cpuMicros: number) => number): string {
  const { server, title, protocol, cpuMicros, ratio } = figure;
  const length = Math.max(1, toLength(cpuMicros));
  const weight = server === 'usher' ? 600 : 400;
  const baseline = y + BAR.height - 4;
  const shownRatio = ratio === undefined ? '' : `  ${ratio.toFixed(2)}x`;
  return (
    `<text x="${BAR.labelWidth - 10}" y="${baseline}" text-anchor="end" font-weight="${weight}" fill="#344054">` +
    `${escapeXml(`${title}, ${protocol}`)}</text>` +
    `<rect x="${BAR.labelWidth}" y="${y}" width="${round(length)}" height="${BAR.height}" rx="3" fill="${COLORS[server]}"/>` +
    `<text x="${round(BAR.labelWidth + length + 8)}" y="${baseline}" font-weight="${weight}" fill="#344054" xml:space="preserve">` +
    `${cpuMicros.toFixed(0)}${shownRatio}</text>`
  );
}

function round(length: number): number {
  return Math.round(length * 10) / 10;
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
