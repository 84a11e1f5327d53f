import { describe, expect, it } from 'vitest'
import { visibleColumns } from './visible-columns'

const COLUMNS = [
  { id: 'when', size: 76 },
  { id: 'what', size: 0, minSize: 180 },
  { id: 'status', size: 100, enableHiding: true },
  { id: 'why', size: 0, minSize: 160, enableHiding: true },
]
const hiddenAt = (width: number) => Object.keys(visibleColumns(COLUMNS, width))

describe('the columns of a list', () => {
  it('are all there when there is room for all, and for the padding of each', () => {
    expect(hiddenAt(612)).toEqual([])
  })

  it('give way to the others, the last one first', () => {
    expect(hiddenAt(611)).toEqual(['why'])
    expect(hiddenAt(386)).toEqual(['why'])
    expect(hiddenAt(385)).toEqual(['why', 'status'])
  })

  it('stay when they may not give way, however narrow the list is', () => {
    expect(hiddenAt(1)).toEqual(['why', 'status'])
  })
})
