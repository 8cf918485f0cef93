#!/usr/bin/env bash
# The main job where neither COCO nor a GPU is at hand: Mask R-CNN on drawn scenes, one CPU core.
#
#   tools/offline_job.sh scenes              draw the scenes, unless they are there
#   tools/offline_job.sh train [OPTION...]   the same, then train and test; options go to tools/train.py
#
#   BACKBONE=mmdet.SwinTransformer           the same job with MMDetection's own Swin
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
python=.venv/bin/python
scenes=data/scenes
backbone=${BACKBONE:-swin_mm.SwinTransformer}

scene_options=(
  --images 1000 --val 100
  --size 320x240
  --seed 0
)
train_options=(
  --data-root "$scenes"
  --work-dir "work_dirs/offline_${backbone%%.*}"
  --weights none     # nothing is downloaded
  --seed 0
  --max-iters 1200   # of four pictures: less noise for the same time than more of two
  --image-scale 0.22 # 106 to 176 px for the short edge, 480 to 800 px in the recipe
  --cfg-options
  # A network a third as wide; given whole, so that another port of Swin can take its place.
  model.backbone._delete_=True
  model.backbone.type="$backbone"
  model.backbone.embed_dims=32
  "model.backbone.depths=[2,2,2,2]"
  "model.backbone.num_heads=[1,2,4,8]"
  model.backbone.drop_path_rate=0.0 # five passes over the pictures are too few to overfit
  "model.neck.in_channels=[32,64,128,256]"
  # The heads are where two cores spend their time: a quarter of the channels and of the RoIs.
  model.neck.out_channels=64
  model.rpn_head.in_channels=64
  model.rpn_head.feat_channels=64
  model.train_cfg.rpn_proposal.nms_pre=200
  model.train_cfg.rpn_proposal.max_per_img=100
  model.test_cfg.rpn.nms_pre=200
  model.test_cfg.rpn.max_per_img=100
  model.train_cfg.rcnn.sampler.num=32
  model.roi_head.bbox_roi_extractor.out_channels=64
  model.roi_head.bbox_head.in_channels=64
  model.roi_head.bbox_head.fc_out_channels=128
  model.roi_head.mask_roi_extractor.out_channels=64
  model.roi_head.mask_head.in_channels=64
  model.roi_head.mask_head.conv_out_channels=64
  # From scratch: a higher rate than the recipe's for fine-tuning, and whole pictures, no crops.
  optim_wrapper.optimizer.lr=1e-3
  train_dataloader.batch_size=4
  "train_dataloader.dataset.pipeline.3.prob=[1.0,0.0]"
  train_dataloader.num_workers=1
  val_dataloader.num_workers=1
)

# Scenes are drawn anew when another world is asked for, or the code that draws them has changed.
draw_scenes() {
  local made_by=data/.scenes-made-by asked
  asked="${scene_options[*]} $(cat swin_mm/data/*.py | cksum)"
  if [[ -d $scenes && -f $made_by && $(<"$made_by") == "$asked" ]]; then
    echo "scenes: $scenes is ready"
    return
  fi
  echo "scenes: drawing $scenes (half a minute)"
  "$python" tools/make_scenes.py "$scenes" --force "${scene_options[@]}"
  echo "$asked" >"$made_by"
}

case ${1:-} in
scenes)
  draw_scenes
  ;;
train)
  draw_scenes
  device=$("$python" tools/mmcv_ops.py check)
  [[ $device == *"uses the GPU"* ]] || export CUDA_VISIBLE_DEVICES=''
  echo "$device"
  # Two threads are a quarter faster than one where nothing else runs (0.43 s an iteration in place
  # of 0.55 s), and two to three times slower on a busy machine, where they wait for each other.
  export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}
  echo "Mask R-CNN with $backbone: 12 to 20 minutes of one core"
  "$python" tools/train.py configs/mask_rcnn_swin_t.py "${train_options[@]}" "${@:2}"
  ;;
*)
  sed -n '2,/^set/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
  ;;
esac
