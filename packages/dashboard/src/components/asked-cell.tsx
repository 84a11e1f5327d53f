import type { DecisionDetail } from '@countersign/contract'
import { Anchor } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { TwoLines } from './two-lines'

export interface AskedCellProps {
  readonly decision: Pick<DecisionDetail, 'id' | 'agent_id' | 'action' | 'resource'>
}

/** The cell `Action and agent` in a list of decisions. A click on the row follows the link of this cell. */
export function AskedCell({ decision: { id, agent_id, action, resource } }: AskedCellProps) {
  return (
    <TwoLines
      first={
        <Anchor renderRoot={(props) => <Link {...props} to="/decisions/$id" params={{ id }} data-row-link />}>
          {action}
        </Anchor>
      }
      second={resource === null ? agent_id : `${agent_id} on ${resource}`}
    />
  )
}
