import { Stack, Title } from '@mantine/core'
import { type ComponentType, lazy, type ReactNode, Suspense, useState } from 'react'
import { untilServed, useAway } from '../api/away'
import { Notice } from './notice'
import { Loading } from './page'

/**
 * Returns a component that the browser loads when it is first shown. When loading fails, a notice appears in its place until
 * an automatic retry succeeds.
 *
 * @param name the component's name, unique in the dashboard
 * @param load imports the component
 * @param whileAway shown while the server is away
 */
export function lazily<Props extends object>(
  name: string,
  load: () => Promise<ComponentType<Props>>,
  whileAway: ReactNode = <NotLoaded />,
) {
  let known: ComponentType<Props> | null = null
  const attempt = async () => {
    known ??= await load()
    sessionStorage.removeItem(reloadedFor(name))
    return { default: known }
  }
  const Later = lazy(() => persist(name, attempt))
  const choose = (): ComponentType<Props> => known ?? Later
  return Object.assign((props: Props) => <Lazily choose={choose} whileAway={whileAway} of={props} />, {
    preload: () => attempt().then(ignore, ignore),
  })
}

interface LazilyProps<Props extends object> {
  readonly choose: () => ComponentType<Props>
  readonly whileAway: ReactNode
  readonly of: Props
}

function Lazily<Props extends object>({ choose, whileAway, of }: LazilyProps<Props>) {
  // Chosen once: a different component in the same place would lose the state of the first.
  const [Chosen] = useState(choose)
  return (
    <Suspense fallback={<Waiting whileAway={whileAway} />}>
      <Chosen {...of} />
    </Suspense>
  )
}

function Waiting({ whileAway }: { readonly whileAway: ReactNode }) {
  return useAway() ? whileAway : <Loading what="part of the dashboard" />
}

function NotLoaded() {
  return <Notice kind="warning">This has not loaded yet. It will appear as soon as the server responds.</Notice>
}

/** Replaces a whole page. */
export function NotLoadedPage() {
  return (
    <Stack>
      <Title order={1}>Not loaded yet</Title>
      <NotLoaded />
    </Stack>
  )
}

/**
 * Loads a file of the server. After an update the server has other files, so this reloads the window, once.
 *
 * @throws the error of `attempt`, when the reload did not help
 */
async function persist<T>(name: string, attempt: () => Promise<T>): Promise<T> {
  try {
    return await attempt()
  } catch {
    await untilServed()
  }
  try {
    return await attempt()
  } catch (error) {
    await untilServed()
    if (sessionStorage.getItem(reloadedFor(name)) !== null) throw error
    sessionStorage.setItem(reloadedFor(name), 'true')
    window.location.reload()
    return new Promise(() => {})
  }
}

const ignore = () => {}
const reloadedFor = (name: string) => `reloaded-for-${name}`
