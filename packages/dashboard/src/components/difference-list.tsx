import { List } from '@mantine/core'
import { visibleText } from './invisible'

interface Difference {
  readonly member: string | null
  readonly later_entry: { readonly id: string } | null
}

export interface DifferenceListProps<D extends Difference> {
  readonly differences: readonly D[]
  readonly inWords: (difference: D) => string
}

/** Lists where a record differs from the audit log. */
export function DifferenceList<D extends Difference>({ differences, inWords }: DifferenceListProps<D>) {
  return (
    <List size="sm">
      {differences.map((difference) => (
        <List.Item key={`${difference.member} ${difference.later_entry?.id}`}>
          {visibleText(inWords(difference))}
        </List.Item>
      ))}
    </List>
  )
}
