/** The frame of every page: the menu, the colour scheme, and the session. */
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
import { useAway } from '../api/away'
import { signOut } from '../api/client'
import { replaceSession } from '../api/query-client'
import { visibleText } from '../components/invisible'
import { Logo } from '../components/logo'
import { Notice } from '../components/notice'
import { useSession } from '../session'
import { forgetUnsentNotes } from '../unsent-notes'
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
        Skip to content
      </a>
      <AppShell.Header>
        <Group h="100%" px={{ base: 'xs', sm: 'md' }} gap="xs" justify="space-between" wrap="nowrap">
          <Group gap="xs" wrap="nowrap">
            <Burger
              opened={isOpen}
              onClick={menu.toggle}
              hiddenFrom="sm"
              size="sm"
              aria-label={isOpen ? 'Close menu' : 'Open menu'}
              aria-expanded={isOpen}
            />
            <Link
              to="/"
              style={{ display: 'flex', gap: 8, alignItems: 'center', color: 'inherit', textDecoration: 'none' }}
            >
              <Logo />
              <Text fw={650} size="lg" className={classes.product}>
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
          <Away />
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
      aria-label={isDark ? 'Use light theme' : 'Use dark theme'}
    >
      {isDark ? <SunIcon size={20} /> : <MoonIcon size={20} />}
    </ActionIcon>
  )
}

function SignedInAs() {
  const { key } = useSession()
  // If the server is unreachable, the page stays signed in, because the session still exists.
  const end = useMutation({
    mutationFn: signOut,
    onSuccess() {
      forgetUnsentNotes()
      replaceSession(null)
    },
  })
  const scopes = key.scopes.includes('*') ? 'It has every scope.' : `Its scopes: ${key.scopes.join(', ')}.`
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

/** Says why the page does not update, and that the user does not need to act. */
function Away() {
  if (!useAway()) return null
  return (
    <Box mb="md">
      <Notice kind="warning" title="The server is not responding">
        {navigator.onLine ? 'It is stopped, still starting, or unreachable.' : 'This device is offline.'} The data on
        this page may be out of date. It updates as soon as the server responds.
      </Notice>
    </Box>
  )
}

/** Says that the page now uses another key, because another window has signed in with it. */
function OtherKey() {
  const { key } = useSession()
  const [knownId, setKnownId] = useState(key.id)
  if (key.id === knownId) return null
  return (
    <Box mb="md">
      <Notice kind="warning" title="This browser is now signed in with another key" isUrgent>
        <Text size="sm" mb="xs">
          This page now uses the key {visibleText(key.name)}. Your last action was not sent.
        </Text>
        <Button size="xs" variant="default" onClick={() => setKnownId(key.id)}>
          Continue
        </Button>
      </Notice>
    </Box>
  )
}
