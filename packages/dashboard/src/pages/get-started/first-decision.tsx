import type { DecisionDetail } from '@countersign/contract'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { listDecisions } from '../../api/decisions'
import { EffectBadge } from '../../components/badges'
import { visibleText } from '../../components/invisible'
import { ErrorNotice } from '../../components/notice'
import { Ago } from '../../components/time'
import { useLive } from '../../live'
import { useMay } from '../../session'
import classes from './get-started.module.css'

type Arrived = Pick<DecisionDetail, 'id' | 'effect' | 'agent_id' | 'action' | 'reason' | 'evaluated_at'>

/** Waits for the first decision, and turns green when it arrives. */
export function FirstDecision() {
  const may = useMay()('decisions:read')
  const live = useLive()
  const [arrived, setArrived] = useState<Arrived | null>(null)
  useEffect(() => live.listen(({ type, data }) => type === 'decision.created' && setArrived(data)), [live])
  const newest = useQuery({
    queryKey: ['decisions', 'newest'],
    queryFn: ({ signal }) => listDecisions({ limit: 1 }, signal),
    enabled: may,
    // Polls when there are no live events.
    refetchInterval: live.isConnected ? false : 3_000,
  })
  if (!may)
    return (
      <p className="quiet">
        Your key cannot read decisions: it is missing the scope decisions:read. Ask someone with access.
      </p>
    )
  if (newest.isError) return <ErrorNotice error={newest.error} retry={newest.refetch} />
  const decision = arrived ?? newest.data?.data[0]
  return (
    <div className={classes.waiting} data-arrived={decision !== undefined} role="status">
      <span className={classes.dot} aria-hidden />
      {decision === undefined ? (
        <span className={classes.what}>Waiting for the first decision …</span>
      ) : (
        <>
          <div className={classes.what}>
            <strong>A decision has arrived.</strong> <EffectBadge effect={decision.effect} />{' '}
            <span className="mono">{visibleText(decision.action)}</span> by{' '}
            <span className="mono">{visibleText(decision.agent_id)}</span>, <Ago at={decision.evaluated_at} />.{' '}
            {decision.reason !== null && visibleText(decision.reason)}
          </div>
          <Link to="/decisions/$id" params={{ id: decision.id }}>
            See why
          </Link>
        </>
      )}
    </div>
  )
}
