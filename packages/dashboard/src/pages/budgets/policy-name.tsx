import type { BudgetAccount, Policy } from '@countersign/contract'
import { useQuery } from '@tanstack/react-query'
import { lastNameOf } from '../../api/policy-names'
import { visibleText } from '../../components/invisible'
import { PolicyLink } from '../../components/object-links'
import { useMay } from '../../session'

export interface PolicyNameProps {
  readonly account: BudgetAccount
  readonly policy: Policy | undefined
}

/** The name of an account's policy, with a link unless the policy was deleted. */
export function PolicyName({ account: { policy_id, deleted_at }, policy }: PolicyNameProps) {
  if (deleted_at !== undefined) return <DeletedName id={policy_id} />
  return <PolicyLink id={policy_id} name={policy?.name} />
}

function DeletedName({ id }: { readonly id: string }) {
  const mayRead = useMay()('policies:read')
  const { data } = useQuery({
    queryKey: ['policies', 'last-name', id],
    queryFn: () => lastNameOf(id),
    enabled: mayRead,
    staleTime: Number.POSITIVE_INFINITY,
  })
  return data == null ? <span className="mono">{id}</span> : <span>{visibleText(data)}</span>
}
