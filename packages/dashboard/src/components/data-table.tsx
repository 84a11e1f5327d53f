/** A list of any length: only the rows that can be seen are in the document. */
import { Button, Center } from '@mantine/core'
import { type ColumnDef, flexRender, getCoreRowModel, useReactTable } from '@tanstack/react-table'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useRef } from 'react'
import classes from './data-table.module.css'

export interface DataTableProps<Row> {
  /** What the rows are, for a screen reader. */
  readonly label: string
  /** `size` is the width in pixels. The column with the size 0 takes the rest. */
  readonly columns: ColumnDef<Row>[]
  readonly rows: readonly Row[]
  readonly idOf: (row: Row) => string
  /** All rows are of this height, in pixels. */
  readonly rowHeight?: number
  /** Null when there are no more. */
  readonly loadMore?: (() => void) | null
  readonly isLoadingMore?: boolean
}

const AHEAD = 8
const NOTHING: never[] = []

export function DataTable<Row>(props: DataTableProps<Row>) {
  const { label, columns, rows, idOf, rowHeight = 52, loadMore = null, isLoadingMore = false } = props
  const frame = useRef<HTMLElement>(null)
  const table = useReactTable({
    data: rows.length === 0 ? NOTHING : (rows as Row[]),
    columns,
    getRowId: idOf,
    getCoreRowModel: getCoreRowModel(),
  })
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
      <table className={classes.table} aria-rowcount={loadMore === null ? all.length + 1 : -1}>
        <thead>
          {table.getHeaderGroups().map((group) => (
            <tr key={group.id}>
              {group.headers.map(({ id, column, getContext }) => (
                <th key={id} scope="col" style={widthOf(column.columnDef.size)} data-column={column.id}>
                  {flexRender(column.columnDef.header, getContext())}
                </th>
              ))}
            </tr>
          ))}
        </thead>
        <tbody>
          <Spacer height={first?.start ?? 0} columns={columns.length} />
          {items.map(({ index, key }) => {
            const row = all[index]
            if (row === undefined) return null
            return (
              <tr key={key} style={{ height: rowHeight }} aria-rowindex={index + 2} className={classes.row}>
                {row.getVisibleCells().map((cell) => (
                  <td key={cell.id} data-column={cell.column.id}>
                    {flexRender(cell.column.columnDef.cell, cell.getContext())}
                  </td>
                ))}
              </tr>
            )
          })}
          <Spacer height={virtual.getTotalSize() - (last?.end ?? 0)} columns={columns.length} />
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

/** Takes the place of the rows that are not in the document. */
function Spacer({ height, columns }: { readonly height: number; readonly columns: number }) {
  if (height <= 0) return null
  return (
    <tr>
      <td colSpan={columns} style={{ height, padding: 0, border: 0 }} />
    </tr>
  )
}

function widthOf(size: number | undefined) {
  return size === undefined || size === 0 ? {} : { width: size }
}
