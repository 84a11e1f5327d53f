/** A list of any length. Only the visible rows are in the document. */
import { Button, Center } from '@mantine/core'
import { type ColumnDef, flexRender, getCoreRowModel, useReactTable } from '@tanstack/react-table'
import { useVirtualizer } from '@tanstack/react-virtual'
import { type CSSProperties, type RefObject, useEffect, useLayoutEffect, useRef, useState } from 'react'
import type { Pages } from '../api/use-pages'
import classes from './data-table.module.css'
import { paddingOf, visibleColumns } from './visible-columns'

export interface DataTableProps<Row> {
  /** Names the list for a screen reader. */
  readonly label: string
  /**
   * `size` is the width of a cell's content, in pixels. Columns with size 0 share the remaining width; each needs at least its
   * `minSize`. Columns with `enableHiding` are hidden when there is no room, the last one first. The main column has size 0
   * and is never hidden. It wraps long texts, and its row grows with them; other columns cut them with `…`.
   */
  readonly columns: ColumnDef<Row>[]
  readonly rows: readonly Row[]
  /** The height of a row whose texts do not wrap, in pixels. */
  readonly rowHeight?: number
  /** Loads the next page. Absent when `rows` is the whole list. */
  readonly more?: Pick<Pages<Row>, 'loadMore' | 'isLoadingMore'>
}

const AHEAD = 8
const NOTHING: never[] = []

export function DataTable<Row extends { readonly id: string }>(props: DataTableProps<Row>) {
  const { label, columns, rows, rowHeight = 52, more } = props
  const { loadMore, isLoadingMore } = more ?? { loadMore: null, isLoadingMore: false }
  const frame = useRef<HTMLElement>(null)
  const width = useInnerWidth(frame)
  const table = useReactTable({
    data: rows.length === 0 ? NOTHING : (rows as Row[]),
    columns,
    state: { columnVisibility: visibleColumns(columns, width) },
    getRowId: ({ id }) => id,
    getCoreRowModel: getCoreRowModel(),
  })
  const shown = table.getVisibleLeafColumns()
  const all = table.getRowModel().rows
  const virtual = useVirtualizer({
    count: all.length,
    getScrollElement: () => frame.current,
    estimateSize: () => rowHeight,
    getItemKey: (index) => all[index]?.id ?? index,
    overscan: AHEAD,
  })
  const items = virtual.getVirtualItems()
  const first = items[0]
  const last = items.at(-1)
  const isNearEnd = last !== undefined && last.index >= all.length - 2 * AHEAD
  useEffect(() => {
    if (isNearEnd && loadMore !== null && !isLoadingMore) loadMore()
  }, [isNearEnd, loadMore, isLoadingMore])

  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
    <section className={classes.frame} ref={frame} tabIndex={0} aria-label={label}>
      <table
        className={classes.table}
        style={{ '--cell-padding': `${paddingOf(width)}px` } as CSSProperties}
        aria-rowcount={loadMore === null ? all.length + 1 : -1}
      >
        <thead>
          {table.getHeaderGroups().map((group) => (
            <tr key={group.id}>
              {group.headers.map(({ id, column, getContext }) => (
                <th key={id} scope="col" style={widthOf(column.columnDef.size)}>
                  {flexRender(column.columnDef.header, getContext())}
                </th>
              ))}
            </tr>
          ))}
        </thead>
        <tbody>
          <Spacer height={first?.start ?? 0} columns={shown.length} />
          {items.map(({ index, key }) => {
            const row = all[index]
            if (row === undefined) return null
            return (
              <tr
                key={key}
                ref={virtual.measureElement}
                data-index={index}
                style={{ height: rowHeight }}
                aria-rowindex={index + 2}
                className={classes.row}
              >
                {row.getVisibleCells().map((cell) => (
                  <td key={cell.id} className={isMain(cell.column.columnDef) ? classes.main : undefined}>
                    {flexRender(cell.column.columnDef.cell, cell.getContext())}
                  </td>
                ))}
              </tr>
            )
          })}
          <Spacer height={virtual.getTotalSize() - (last?.end ?? 0)} columns={shown.length} />
        </tbody>
      </table>
      {loadMore !== null && (
        <Center p="xs">
          <Button size="xs" variant="subtle" onClick={loadMore} loading={isLoadingMore}>
            Load more
          </Button>
        </Center>
      )}
    </section>
  )
}

/** Fills the space of the rows that are not in the document. */
function Spacer({ height, columns }: { readonly height: number; readonly columns: number }) {
  if (height <= 0) return null
  return (
    <tr>
      <td colSpan={columns} style={{ height, padding: 0, border: 0 }} />
    </tr>
  )
}

function isMain({ size, enableHiding }: Pick<ColumnDef<unknown>, 'size' | 'enableHiding'>): boolean {
  return size === 0 && enableHiding !== true
}

/** Columns without a width share what remains, because the table has a fixed layout. */
function widthOf(size: number | undefined) {
  return size === undefined || size === 0 ? {} : { width: `calc(${size}px + 2 * var(--cell-padding))` }
}

/** Returns the current width of an element in pixels, without its borders and scroll bar. */
function useInnerWidth(ref: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0)
  // Runs before the first paint, so that no column appears and disappears again.
  useLayoutEffect(() => {
    const element = ref.current
    if (element === null) return
    const read = () => setWidth(element.clientWidth)
    read()
    const observer = new ResizeObserver(read)
    observer.observe(element)
    return () => observer.disconnect()
  }, [ref])
  return width
}
