/** Columns of text, the first to the left and the others to the right. */
export function printTable(header, rows) {
  const lines = [header, ...rows]
  const widths = header.map((_, column) => Math.max(...lines.map((line) => line[column].length)))
  for (const line of lines) {
    const cells = line.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column])))
    console.log(cells.join('   ').trimEnd())
  }
}
