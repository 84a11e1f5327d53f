/** Chooses the columns of a list that fit its width. */

/** The members of a TanStack Table column that matter here. */
interface Column {
  readonly id?: string
  readonly size?: number
  readonly minSize?: number
  readonly enableHiding?: boolean
}

/** The default minimum of a column that shares the remaining width. */
const SHARE = 160

/** The padding at each side of a cell, in pixels. A phone has less room. */
export const paddingOf = (listWidth: number): number => (listWidth < 440 ? 5 : 12)

/**
 * Returns false by the id of each column to hide. Columns that may be hidden go from the last one on, until the others fit.
 *
 * @param listWidth in pixels
 */
export function visibleColumns(columns: readonly Column[], listWidth: number): Record<string, boolean> {
  const padding = 2 * paddingOf(listWidth)
  const widthOf = ({ size, minSize }: Column) => (size || (minSize ?? SHARE)) + padding
  let missing = columns.reduce((sum, column) => sum + widthOf(column), 0) - listWidth
  const hidden: Record<string, boolean> = {}
  for (const column of columns.toReversed()) {
    if (missing <= 0) break
    if (column.enableHiding !== true || column.id === undefined) continue
    hidden[column.id] = false
    missing -= widthOf(column)
  }
  return hidden
}
