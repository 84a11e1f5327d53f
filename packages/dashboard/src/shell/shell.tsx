/** What is around every page: the menu, the colour scheme, and who is signed in. */
import {
  ActionIcon,
  AppShell,
  Box,
  Burger,
  Button,
  Group,
  Text,
  useComputedColorScheme,
  useMantineColorScheme,
} from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { MoonIcon, SunIcon } from '@primer/octicons-react'
import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { signOut } from '../api/client'
import { replaceSession } from '../api/query-client'
import { visibleText } from '../components/invisible'
import { Logo } from '../components/logo'
import { Notice } from '../components/notice'
import { useSession } from '../session'
import { Navigation } from './navigation'
import classes from './shell.module.css'

export function Shell({ children }: { readonly children: ReactNode }) {
  const [isOpen, menu] = useDisclosure()
  return (
    <AppShell
      header={{ height: 52 }}
      navbar={{ width: 216, breakpoint: 'sm', collapsed: { mobile: !isOpen } }}
      padding={{ base: 'sm', sm: 'lg' }}
      transitionDuration={0}
    >
      <a href="#main" className={classes.skip}>
        Skip to the page
      </a>
      <AppShell.Header>
        <Group h="100%" px={{ base: 'xs', sm: 'md' }} gap="xs" justify="space-between" wrap="nowrap">
          <Group gap="xs" wrap="nowrap">
            <Burger
              opened={isOpen}
              onClick={menu.toggle}
              hiddenFrom="sm"
              size="sm"
              aria-label={isOpen ? 'Close the menu' : 'Open the menu'}
              aria-expanded={isOpen}
            />
            <Link
              to="/"
              style={{ display: 'flex', gap: 8, alignItems: 'center', color: 'inherit', textDecoration: 'none' }}
            >
              <Logo />
              <Text fw={650} size="lg">
                Countersign
              </Text>
            </Link>
          </Group>
          <Group gap={4} wrap="nowrap">
            <ColorScheme />
            <SignedInAs />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" style={{ overflowY: 'auto' }}>
        <Navigation onNavigate={menu.close} />
      </AppShell.Navbar>
      <AppShell.Main id="main">
        <div style={{ maxWidth: '84rem', margin: '0 auto' }}>
          <OtherKey />
          {children}
        </div>
      </AppShell.Main>
    </AppShell>
  )
}

function ColorScheme() {
  const { setColorScheme } = useMantineColorScheme()
  const isDark = useComputedColorScheme('light') === 'dark'
  return (
    <ActionIcon
      variant="subtle"
      color="gray"
      size="lg"
      onClick={() => setColorScheme(isDark ? 'light' : 'dark')}
      aria-label={isDark ? 'Use light colours' : 'Use dark colours'}
    >
      {isDark ? <SunIcon size={20} /> : <MoonIcon size={20} />}
    </ActionIcon>
  )
}

function SignedInAs() {
  const { key } = useSession()
  // If the server cannot be reached, the session is still there: nothing says otherwise.
  const end = useMutation({ mutationFn: signOut, onSuccess: () => replaceSession(null) })
  const scopes = key.scopes.includes('*') ? 'It may do everything.' : `Its scopes: ${key.scopes.join(', ')}.`
  return (
    <>
      <Text
        size="sm"
        className="quiet"
        visibleFrom="sm"
        maw={240}
        truncate
        title={`${visibleText(key.name)}. ${scopes}`}
      >
        {visibleText(key.name)}
      </Text>
      <Button variant="subtle" size="compact-sm" onClick={() => end.mutate()} loading={end.isPending}>
        {end.isError ? 'Try again to sign out' : 'Sign out'}
      </Button>
    </>
  )
}

/** Says that the page has become one of another key: somebody has signed in with it in another window. */
function OtherKey() {
  const { key } = useSession()
  const [knownId, setKnownId] = useState(key.id)
  if (key.id === knownId) return null
  return (
    <Box mb="md">
      <Notice kind="warning" title="Somebody has signed in with another key in this browser" isUrgent>
        <Text size="sm" mb="xs">
          This page is now one of the key {visibleText(key.name)}. What you did last was not sent.
        </Text>
        <Button size="xs" variant="default" onClick={() => setKnownId(key.id)}>
          Go on
        </Button>
      </Notice>
    </Box>
  )
}
