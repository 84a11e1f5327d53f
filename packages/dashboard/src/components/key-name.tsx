import { useQuery } from '@tanstack/react-query'
import { getKey } from '../api/keys'
import { useMay } from '../session'
import { visibleText } from './invisible'

/** Shows the name of a key, or its id when the session's key cannot read keys. */
export function KeyName({ id }: { readonly id: string }) {
  const mayRead = useMay()('keys:read')
  const key = useQuery({
    queryKey: ['keys', id],
    queryFn: () => getKey(id),
    enabled: mayRead && id.startsWith('key_'),
    staleTime: 60_000,
  })
  if (key.data === undefined) return <span className="mono">{id}</span>
  return <span title={id}>{visibleText(key.data.name)}</span>
}
