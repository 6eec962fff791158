#!/bin/bash
# Python of the image on a node, for jobs that `autograde grade ... --runner slurm` submits: the Slurm
# setting "python" names this file. The course folder is WORKBOOK_COURSE, as for grade.sbatch.
set -euo pipefail
umask 077

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=common.sh
source "$here/common.sh"

course=${WORKBOOK_COURSE:-}
[[ -d $course ]] || die "Set WORKBOOK_COURSE to the course folder before you start autograde."
in_image "$course" python "$@"
