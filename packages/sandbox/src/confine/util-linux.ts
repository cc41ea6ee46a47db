import { seccompFilter } from "../seccomp/filter.js";
import { seccompLoader } from "../seccomp/loader.js";
import type { LaunchRequest, LinuxConfinement } from "./backend.js";
import { atLeast, programVersion } from "./programs.js";
import { findVolumes, STAGE, stageMounts } from "./staging.js";

/** Confines with programs that most Linux systems have: `unshare`, `mount`, `setpriv`. A small program of our own loads the filter. */
export const utilLinux: LinuxConfinement = {
  name: "util-linux",
  programs: ["unshare", "setpriv", "mount", "umount", "mkdir", "cp", "env"],
  async inspect(programs, arch) {
    const [unshare = "", setpriv = "", mount = "", umount = "", mkdir = "", cp = "", env = ""] = programs;
    const version = await programVersion(unshare);
    // Before 2.38, programs started by `unshare` ignore these signals.
    const hearing = atLeast(version, 2, 38) ? [] : [env, "--default-signal=INT,TERM", "--"];
    return {
      version,
      filter: seccompLoader(arch, seccompFilter(arch)),
      launch: (request) => [
        // Ends with the process that spawned it, and everything inside ends too.
        ...([setpriv, "--pdeathsig", "KILL", "--"] as const),
        // The other namespaces are made after the user namespace. If made together with it, they would have no owner inside it.
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

/** The arguments of the script, in its order. */
function setupArguments({ plan, network, cwd }: LaunchRequest): string[] {
  const { fresh, writable, binds, anchors, files } = stageMounts(plan.mounts, findVolumes(plan.mounts), network);
  const held = anchors.flatMap(({ path, slot }) => [path, slot]);
  return [fresh, writable.join(" "), binds, cwd, ...held, "--", ...files, "--"];
}

/**
 * Makes the mounts of a command inside its new namespaces, then replaces itself by the command. The text is constant: everything that
 * differs between commands comes as arguments, in the order of use, with the command line at the end.
 */
const SETUP_SCRIPT = `
fail() { printf 'sandbox: %s\\n' "$1" >&2; exit 126; }
unshare=$1 setpriv=$2 mount=$3 umount=$4 mkdir=$5 cp=$6; shift 6
fresh=$1 writable=$2 binds=$3 cwd=$4; shift 4
# Only the system call: no helper programs, no list of mounts, no translated messages.
mnt() { LC_ALL=C "$mount" -i -n "$@"; }

# This shell is root in its own user namespace. Outside it is the user who started it.
read -r _ uid _ < /proc/self/uid_map && read -r _ gid _ < /proc/self/gid_map || fail 'no user namespace'
# Root owns the kernel settings in /proc and could write them without a capability. Any other user gets their own id back
# at the end, which needs one more user namespace. No further one is allowed.
if [ "$uid" = 0 ]; then proc=ro spaces=0; else proc=rw spaces=1; fi
echo "$spaces" > /proc/sys/user/max_user_namespaces || fail 'user namespaces cannot be limited'

# Fails on a mount that is still writable, unless its path does not lead to it, because another mount covers it or this
# user may not enter.
# The kernel writes blanks and the like as \\ooo, which printf needs as \\0ooo.
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
# Open /dev/null for unwanted messages now, because devices cannot be opened afterwards.
exec 8> /dev/null
mnt -c -a -o remount,bind,ro,nosuid,nodev 2>&8
expect_read_only

mnt -c -t tmpfs -o nosuid,nodev,mode=0755 stage ${STAGE} || fail 'no place to prepare in'
# Bind a directory by entering it and a file by opening it, and only if no part of the path is a link.
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
# Some hosts do not show the devices of a private network. Everything else is required.
read -r pid _ < /proc/self/stat && [ "$pid" = 1 ] && [ -e ${STAGE}/dev/pts/ptmx ] || fail "$why"
# Switch the loopback device on, so that a command can reach its own servers.
{ [ ! -e ${STAGE}/network/class/net/lo/flags ] || echo 0x9 > ${STAGE}/network/class/net/lo/flags; } 2>&8
# A file system that was read-only from the beginning stays so.
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
# The first process of the namespace is a waiting shell, so that signals have their normal effect on the command.
set -- /proc/self/fd/3 /bin/sh -c '"$@"; exit "$?"' sh "$@"
set -- "$setpriv" --no-new-privs --bounding-set=-all --inh-caps=-all --ambient-caps=-all -- "$@"
[ "$uid" = 0 ] || set -- "$unshare" --user --map-user="$uid" --map-group="$gid" --keep-caps -- "$@"
exec "$@" 8>&-
`;
