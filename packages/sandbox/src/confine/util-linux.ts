import { seccompFilter } from "../seccomp/filter.js";
import { seccompLoader } from "../seccomp/loader.js";
import type { LaunchRequest, LinuxConfinement } from "./backend.js";
import { atLeast, programVersion } from "./programs.js";
import { findVolumes, STAGE, stageMounts } from "./staging.js";

/** What most Linuxes have: `unshare`, `mount`, `setpriv`; a program written out here loads the filter. */
export const utilLinux: LinuxConfinement = {
  name: "util-linux",
  programs: ["unshare", "setpriv", "mount", "umount", "mkdir", "cp", "env"],
  async inspect(programs, arch) {
    const [unshare = "", setpriv = "", mount = "", umount = "", mkdir = "", cp = "", env = ""] = programs;
    const version = await programVersion(unshare);
    // Before 2.38 what `unshare` starts ignores these signals.
    const hearing = atLeast(version, 2, 38) ? [] : [env, "--default-signal=INT,TERM", "--"];
    return {
      version,
      filter: seccompLoader(arch, seccompFilter(arch)),
      launch: (request) => [
        // It ends with the process that spawns it, and everything inside ends with it.
        ...([setpriv, "--pdeathsig", "KILL", "--"] as const),
        // The others are made after it: what is made together with a user namespace belongs to nobody in it.
        ...[unshare, "--user", "--map-root-user", "--"],
        ...[unshare, ...NAMESPACES, ...(request.network ? [] : ["--net"]), "--"],
        ...["/bin/sh", "-c", SETUP_SCRIPT, "sandbox", unshare, setpriv, mount, umount, mkdir, cp],
        ...setupArguments(request),
        ...hearing,
        ...request.argv,
      ],
    };
  },
};

// --- internal ---

const NAMESPACES = "--mount --propagation private --pid --fork --kill-child --ipc --uts --cgroup".split(" ");

/** In the order in which the script takes them. */
function setupArguments({ plan, network, cwd }: LaunchRequest): string[] {
  const { fresh, writable, binds, anchors, files } = stageMounts(plan.mounts, findVolumes(plan.mounts), network);
  const held = anchors.flatMap(({ path, slot }) => [path, slot]);
  return [fresh, writable.join(" "), binds, cwd, ...held, "--", ...files, "--"];
}

/**
 * Makes the mounts of a command from inside its new namespaces, then becomes the command. Nothing is ever written into this
 * text: what differs between commands comes as arguments, in the order they are taken below, and the last are the command line.
 */
const SETUP_SCRIPT = `
fail() { printf 'sandbox: %s\\n' "$1" >&2; exit 126; }
unshare=$1 setpriv=$2 mount=$3 umount=$4 mkdir=$5 cp=$6; shift 6
fresh=$1 writable=$2 binds=$3 cwd=$4; shift 4
# No helper of a file system, no list of mounts, no translation: nothing but the system call.
mnt() { LC_ALL=C "$mount" -i -n "$@"; }

# This shell is root of its own user namespace; outside it is the user who started it.
read -r _ uid _ < /proc/self/uid_map && read -r _ gid _ < /proc/self/gid_map || fail 'no user namespace'
# Root owns the settings of the kernel in /proc and needs no capability to write them. Everybody else gets their own
# number back in the end, for which one more user namespace is made, and nobody makes another.
if [ "$uid" = 0 ]; then proc=ro spaces=0; else proc=rw spaces=1; fi
echo "$spaces" > /proc/sys/user/max_user_namespaces || fail 'user namespaces cannot be limited'

# Fails on a mount that is still writable, unless its name does not lead to it: others cover it, or this user may not go there.
# The kernel writes blanks and the like as \\ooo, which printf reads as \\0ooo.
expect_read_only() {
  while read -r id _ _ _ place options _; do
    case $options in ro | ro,*) continue ;; esac
    name= rest=$place
    while case $rest in *\\\\*) ;; *) false ;; esac; do name=$name\${rest%%\\\\*}\\\\0 rest=\${rest#*\\\\}; done
    path=$(printf '%b.' "$name$rest") path=\${path%.}
    [ "\${#path}" -lt 4096 ] || fail 'the name of a mount is too long'
    [ -e "$path" ] || continue
    { [ -d "$path" ] || [ -f "$path" ]; } && find_mount "$path" && [ "$found" != "$id" ] || fail "cannot make $path read-only"
  done < /proc/self/mountinfo
}
find_mount() {
  found=
  { while read -r key value; do [ "$key" != mnt_id: ] || found=$value; done < /proc/self/fdinfo/9; } 9< "$1"
  [ -n "$found" ]
}
# Afterwards no device can be opened, so the one that takes messages nobody needs is opened before.
exec 8> /dev/null
mnt -c -a -o remount,bind,ro,nosuid,nodev 2>&8
expect_read_only

mnt -c -t tmpfs -o nosuid,nodev,mode=0755 stage ${STAGE} || fail 'no place to prepare in'
# A directory is taken hold of by being in it, a file by having it open, and only if the name leads here without a link.
enter() { cd -P -- "$1" && [ "$PWD" = "$1" ] || fail "$anchor is no longer where it was"; }
hold() { mnt -c -o rbind,X-mount.mkdir "$1" "$slot" || fail "cannot take hold of $anchor"; }
hold_file() {
  [ ! -h "$1" ] && [ "$1" -ef /proc/self/fd/9 ] || fail "$anchor is no longer where it was"
  : > "$slot" && hold /proc/self/fd/9
}
while [ "$1" != -- ]; do
  anchor=$1 slot=$2; shift 2
  case $slot in
    *-file*) enter "\${anchor%/*}"; [ -f "./\${anchor##*/}" ] && hold_file "./\${anchor##*/}" 9< "./\${anchor##*/}" || fail "no file $anchor" ;;
    *) enter "$anchor"; hold . ;;
  esac
done
shift
cd /
printf '%s\\n' "process /proc proc $proc,nosuid,nodev,noexec 0 0" "$fresh" > ${STAGE}/fresh
why='no process list of its own'
mnt -c -a -T ${STAGE}/fresh 2> ${STAGE}/errors || read -r why < ${STAGE}/errors
# Not every host lets a network have devices of its own to look at; the rest must be there.
read -r pid _ < /proc/self/stat && [ "$pid" = 1 ] && [ -e ${STAGE}/dev/pts/ptmx ] || fail "$why"
# Switched on, so that a command can speak to servers of its own.
{ [ ! -e ${STAGE}/network/class/net/lo/flags ] || echo 0x9 > ${STAGE}/network/class/net/lo/flags; } 2>&8
# What was read-only before this shell came stays so.
for slot in $writable; do mnt -o remount,bind,rw "$slot" 2>&8; done

while [ "$1" != -- ]; do
  [ -d "\${1%/*}" ] || "$mkdir" -p -- "\${1%/*}" && : > "$1" || fail "cannot prepare $1"
  shift
done
shift
LC_ALL=C "$cp" -P /dev/fd /dev/stdin /dev/stdout /dev/stderr ${STAGE}/dev 2>&8
printf '%s\\n' "$binds" > ${STAGE}/binds
mnt -c -a -T ${STAGE}/binds -o rbind || fail 'cannot mount what the command shall see'
LC_ALL=C "$umount" -i -n -c -l ${STAGE} || fail 'cannot clear up'

cd -- "$cwd" || fail "no directory $cwd"
unset OLDPWD
# The first process of the namespace is a shell that waits, so that signals mean to the command what they always mean.
set -- /proc/self/fd/3 /bin/sh -c '"$@"; exit "$?"' sh "$@"
set -- "$setpriv" --no-new-privs --bounding-set=-all --inh-caps=-all --ambient-caps=-all -- "$@"
[ "$uid" = 0 ] || set -- "$unshare" --user --map-user="$uid" --map-group="$gid" --keep-caps -- "$@"
exec "$@" 8>&-
`;
