# shellcheck shell=bash
# What the job scripts share: find the container tool and the image, make a folder on the node's own
# disk, run a command in the image. Sourced, never run.
#
# Yours to set before `sbatch`, or in site.env: WORKBOOK_IMAGE (workbook.sif or a sandbox folder;
# default: the one in the folder that you submit from), WORKBOOK_BIND (further folders to bind, as
# a:b,c:d), TRITONBOOK_EXERCISES (a folder of pages other than the image's; bind it too).

die() {
    echo "$*" >&2
    exit 2
}

scripts=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source-path=SCRIPTDIR source=site.sh
source "$scripts/site.sh"
read_site "$scripts/site.env"

tool=$(command -v apptainer || command -v singularity) ||
    die "Neither apptainer nor singularity is in PATH; try: module load apptainer"
image=${WORKBOOK_IMAGE:-${SLURM_SUBMIT_DIR:-$PWD}/workbook.sif}
[[ -e $image ]] || die "There is no image $image; set WORKBOOK_IMAGE, or build it: see singularity/README.md"

# Slurm's own TMPDIR where the site gives one, else the node's /tmp: never a shared file system.
# In the image it is /tmp, a short path: addresses of local sockets may have no more than 107 bytes.
scratch=$(mktemp -d "${TMPDIR:-/tmp}/workbook-${SLURM_JOB_ID:-0}-XXXXXXXX")
chmod 700 "$scratch"
mkdir "$scratch/home" "$scratch/triton"
remove_scratch() {
    rm -rf "$scratch"
}
trap remove_scratch EXIT

# image_line FOLDER COMMAND...: set the array `line` to what runs COMMAND in the image, in FOLDER, with
# the GPU that Slurm gave and nothing else of the host's environment. The home is a scratch folder:
# none of yours is needed or touched.
image_line() {
    local folder=$1
    shift
    # A folder under /tmp needs its mount point in the new /tmp.
    [[ $folder == /tmp/* ]] && mkdir -p "$scratch${folder#/tmp}"
    local options=(exec --nv --cleanenv --home "$scratch/home:/tmp/home" --bind "$scratch:/tmp"
        --bind "$folder" --pwd "$folder" --env TMPDIR=/tmp --env TRITON_CACHE_DIR=/tmp/triton
        --env "TRITONBOOK_HOME=${TRITONBOOK_HOME:-$folder/.tritonbook}")
    [[ -n ${WORKBOOK_BIND:-} ]] && options+=(--bind "$WORKBOOK_BIND")
    local name
    for name in CUDA_VISIBLE_DEVICES TRITON_INTERPRET SLURM_JOB_ID SLURM_CPUS_PER_TASK \
        SLURM_ARRAY_JOB_ID SLURM_ARRAY_TASK_ID SLURM_PROCID SLURM_NTASKS SUBMITIT_EXECUTOR \
        JUPYTER_TOKEN_FILE JUPYTER_RUNTIME_DIR TRITONBOOK_EXERCISES; do
        [[ -n ${!name:-} ]] && options+=(--env "$name=${!name}")
    done
    line=("$tool" "${options[@]}" "$image" "$@")
}

# in_image FOLDER COMMAND...: run it, and wait. To run it beside the script and send it signals, start
# "${line[@]}" itself: of a function in the background, a signal ends the shell and not the tool.
in_image() {
    image_line "$@"
    "${line[@]}"
}
